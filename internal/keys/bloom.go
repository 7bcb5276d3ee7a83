package keys

// BloomConfig names the hash that says how many bits a Bloom filter has, for either library. The bitmap is the name itself.
func BloomConfig(name string) string { return Suffix(name, "config") }
