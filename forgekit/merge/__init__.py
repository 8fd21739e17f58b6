"""The three-way merge of entities, field by field. Pure."""
