"""The daily loop: archives in, blocks out, questions answered."""
