package keys

// BucketClaim says which Update of a bucket goes before others, as it has lost to them for
// long; Redisson has none.
func BucketClaim(name string) string { return Prefix("rueidisson_bucket_claim", name) }

// SetExpired names the channel on which a set with times to live tells what it has swept.
func SetExpired(name string) string { return Prefix("redisson_set_cache_expired", name) }
