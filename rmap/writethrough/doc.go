// Package writethrough is a map of package rmap whose changes are written to a store, too, such as a database.
//
//	stock := writethrough.New(rmap.New[string, int](c, "stock"), save)
//	err := stock.Put(ctx, "tea", 3) // the store has it first
//
// # What it promises
//
// Through is the default: a [Map] writes to the store first, under the lock of the entry, and to the map after it. If the
// store returns an error, nothing changes, and the caller gets that error. Changes of one entry wait for each other in
// the whole fleet. If the map cannot be written, the error says that the store has the change, and the entry is removed
// from the map, if the server can be reached.
//
// With [WithBehind] one step on the server changes the map and queues the change. One process of the fleet at a time
// writes what is queued, in batches, in order for each entry, at least once. Of each key a batch has
// the last change. If its process dies, another goes on. If
// the store does not keep up, writes return [ErrBacklog]. A change that is refused for good is kept aside, see [Map.Dead].
//
// # What it does not promise
//
// Only changes by a Map of this package are written to the store: changes by others, Java too, are not, and neither are
// times to live. Written behind, a batch may come twice: a store refuses an older fencing token, or takes a change twice
// without harm. What a failover or an eviction forgets is not written. The store may have a change that the caller was
// told an error about.
//
// # Cost
//
// A change takes the lock of the entry, the call of the store, and one script call. With [WithBehind] it takes one script
// call. The process that writes what is queued makes two script calls and one call of the store for each batch.
//
// docs/guide/near-caches.md has programs, failure modes and tuning.
package writethrough
