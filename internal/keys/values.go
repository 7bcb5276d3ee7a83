package keys

// BucketClaim says which Update of a bucket goes before others, as it has lost to them for
// long; Redisson has none.
func BucketClaim(name string) string { return Prefix("rueidisson_bucket_claim", name) }

// SetExpired names the channel on which a set with times to live tells what it has swept.
func SetExpired(name string) string { return Prefix("redisson_set_cache_expired", name) }

// SeriesEnds returns the sorted set of when the entries of a time series end.
func SeriesEnds(name string) string { return Prefix("redisson__ts_ttl", name) }

// SeriesIDs returns the counter of the entries that a newer Redisson has added to a time series.
func SeriesIDs(name string) string { return Prefix("redisson__ts_seq", name) }

// Series returns the keys of a time series, its entries first.
func Series(name string) []string { return []string{name, SeriesEnds(name), SeriesIDs(name)} }
