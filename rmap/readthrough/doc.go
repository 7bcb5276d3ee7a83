// Package readthrough is a map of package rmap whose Get loads what is not there from a source, such as a database.
//
//	products := readthrough.New(rmap.NewCache[int, Product](c, "products", rmap.WithTTL(time.Hour)), fromDatabase)
//	tea, there, err := products.Get(ctx, 42)
//
// # What it promises
//
// Of all callers that miss an entry at the same time, in all processes of the fleet, one calls the loader. The others
// wait, and have the value one round trip after it was written. After an error another process that waits loads, after a
// pause.
//
// A load never overwrites a Put or a Remove that is made while it runs. For a cache this holds for every writer that uses
// this library. For the other kinds it holds for a Put by any client, and for a Remove by a [Map] of this package.
// Change the source first, and the map after it.
//
// If the process of a loader dies, another loads after [WithLoadTimeout] and half a second. An error of the loader is
// returned to the callers of its process, and writes nothing.
//
// On a cache a load holds Redisson's lease of the entry. Elsewhere, and on a cache with rmap.WithEntryLock, it also
// acquires the lock that Redisson's read-through acquires: one load serves Java's callers, too.
//
// # What it does not promise
//
// The loader may run twice: a process that was paused beyond its lease has called it already, and what it brings then is
// not written. A failover may forget what was loaded. Clear and Delete do not keep a load from writing its result. A
// source that changes without a write of the map is seen when the entry expires, or is loaded anew ([WithRefreshAhead],
// [Map.Refresh]).
//
// # Cost
//
// A Get that finds its entry takes what the map's Get takes. A miss takes one script call more, and the process that loads
// a second one. Where the lock of the entry is acquired, it takes the two calls of the lock and one more.
//
// docs/guide/near-caches.md has programs, failure modes and tuning.
package readthrough
