"""Find decisions and threads in what people and models say to each other, by rules and without a model."""
