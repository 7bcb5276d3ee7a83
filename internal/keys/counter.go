package keys

// IDBlock names the key that says how many ids are in a block of an id generator, for either library. The next id is the name
// itself.
func IDBlock(name string) string { return Suffix(name, "allocation") }
