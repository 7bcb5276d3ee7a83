package keys

// Values returns the values of one key of a multimap, of which key is the encoded key,
// by either library. The multimap's name is a hash that has an id for each key,
// which is what stands behind the name here.
func Values(name, key string) string { return ValuesOf(name, GroupField(key)) }

// ValuesOf returns the same by the id.
func ValuesOf(name, id string) string { return Suffix(name, id) }

// ListEnds names the key that says when keys of a multimap of lists end.
func ListEnds(name string) string { return Suffix(name, "redisson_list_multimap_ttl") }

// SetEnds names the key that says when keys of a multimap of sets end.
func SetEnds(name string) string { return Suffix(name, "redisson_set_multimap_ttl") }
