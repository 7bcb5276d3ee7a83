// Package bloom is Bloom filters that a fleet shares, Go and Java, on the keys of Redisson's RBloomFilter, bit for bit.
//
//	seen := bloom.New[string](c, "seen")
//	if _, err := seen.Init(ctx, 1_000_000, 0.001); err != nil { // every process may call it
//		return err
//	}
//	fresh, err := seen.AddNew(ctx, url)
//
// A [Filter] remembers in a few bits for each value that the value was added. Has returns false for a value that was certainly not
// added, and true for one that probably was. It keeps no values, so it can list none, and remove none.
//
// # Which one do I need?
//
//   - Is it a member, exactly? Which are there? A set: Redis keeps each value, 50 bytes or more.
//   - Was it perhaps seen before? A Filter: 14.4 bits for each value with p = 0.001, 4.8 bits more for each further factor of 10.
//   - How many different ones were there, about? A distinct count: 12 KB, whatever their number.
//
// A filter serves to skip work: a lookup of what is not there, a page that was read before. Where a wrong true does harm, ask what
// is exact after it.
//
// # What it guarantees
//
// After Add has returned nil, Has returns true for these values, for every client, as long as the server forgets nothing and the
// filter is not deleted. An add that was repeated changes nothing, so that it is sent again when a reply was lost.
//
// Of the values that were not added, about p are found, once n different values were added. With more than n their part grows;
// [Filter.Count] tells when.
//
// The shape of the filter, its bits and the bits of a value, is what Init computed, here or in Java. It is read from the server,
// and each operation checks it in the same step in which it reads or sets bits. So a filter that was deleted and made anew, with
// another shape, gets no bit of the old one. Nothing is written into a deleted filter.
//
// [Filter.AddNew] returns true of a value only if no other call has added it before, and false never just because its own request
// was sent twice.
//
// A filter is made once. Of any number of processes that call Init at the same time one makes it, and the others find it, or get
// [ErrOtherShape].
//
// # What it does not guarantee
//
//   - A failover, or a restart of a server that had not saved its last writes, forgets the last adds: these values are not found.
//   - A server that evicts keys may evict the bitmap: then no value is found. If it evicts the config, operations return
//     [ErrNotSet]; Init makes an empty filter. Use maxmemory-policy noeviction, or a database of its own.
//   - Operations of more than 1,000 bits, which are 100 values with p = 0.001, take several steps. After an error some of the values
//     may have been added.
//   - Values are compared by their bytes: another codec writes others. Types that contain a map or an interface are refused.
//   - A caller that chooses its values can find some that are in the filter without having been added: the hash has no secret.
//
// # The server
//
// No operation keeps the server for more than about 2 ms, except Init, once: 1 ms for each 1.5 MB. Long ones go in pieces of 1,000
// bits, so that others are served in between. Single calls of Has that come while others of the client are under way go together.
//
// An embedded server (package rueidissontest) has no bit fields: there it takes a command for each bit.
//
// Handles do no I/O, except that the first operation reads the shape. The first operation reports an invalid name or option.
//
// See docs/guide/values.md for a program and costs, and docs/redis.md for keys and commands.
package bloom
