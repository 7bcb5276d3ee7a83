package tracking

// Field is what a line about a client says of a name.
var Field = field
