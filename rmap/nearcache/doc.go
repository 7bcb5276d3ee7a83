// Package nearcache is a local copy of the hot entries of a map of package rmap. A read that finds a valid copy takes no
// round trip, and some 100 ns.
//
//	prices := rmap.New[string, int](c, "prices")
//	near := nearcache.New(prices)
//	defer near.Close()
//	tea, there, err := near.Get(ctx, "tea")
//
// # What it promises
//
// A [Cache] knows when its copies are not valid any more, and answers with a copy only as long as it hears of changes.
//
// Tracked is the default: the server tells a Cache when its map changes, for every writer, Java too. A change drops the
// copies of the whole map, or of one shard. Copies are at most [WithMaxSilence] stale while the connection is silent, and
// at most [WithMaxAge] after SWAPDB.
//
// Announced ([WithAnnounced]), the writers tell it which entries they write. It is right only if every writer does that,
// with handles that are made with rmap.WithAnnounce.
//
// No read of a Cache is older than a write of the same Cache. A Cache never waits until messages arrive again: meanwhile
// it reads its map, and [Cache.Stats] says why.
//
// # What it does not promise
//
// Reads of two processes are not of one moment: one may still answer with a copy while the other has heard of the change.
// Values are handed out as they are kept: do not change what they point to. Announced copies outlive a connection that
// breaks by up to [WithMaxSilence]. Of one near cache no reader gets an older value after a newer one: announced reads that
// overlap and differ are not kept. On a cluster a server that was cut off from the others, and not from this process, is
// believed until the client learns better, up to 30 s.
//
// # Cost
//
// A hit takes no round trip. A miss takes that of the map's read, a PTTL for all that miss together, and of a cache or a TTL
// map the remaining time of the entry. A change of a tracked map costs every process its copies of the map.
//
// docs/guide/near-caches.md has programs, the states of a connection, and what Java hears.
package nearcache
