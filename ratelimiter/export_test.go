package ratelimiter

// Pack and Unpack are for tests that read and write what is stored.
var (
	Pack   = pack
	Unpack = unpack
)
