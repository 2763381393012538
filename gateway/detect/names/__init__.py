"""Names of people: by the words around them (`context`), and by their form (`shape`)."""
