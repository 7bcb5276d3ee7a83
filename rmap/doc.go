// Package rmap is maps that a fleet shares, Go and Java: typed, on the keys of
// Redisson's maps, byte for byte.
//
//	stock := rmap.New[string, Product](c, "products")
//	if err := stock.Put(ctx, "tea", Product{Price: 3}); err != nil {
//		return err
//	}
//	tea, there, err := stock.Get(ctx, "tea")
//
// # Which one do I need
//
// A [Map] is a hash: entries stay until they are removed. It is the fastest, and
// every server has it.
//
// A [TTLMap] is a Map whose entries may have times to live ([WithTTL]). The server itself
// expires them, to the millisecond: Redis 7.4, Valkey 9, or later. A Map on the same name
// reads it.
//
// A [Cache] is for older servers, and for what no server has: entries that expire when
// they were not used for a while, a bound on the number of entries, and events. Its
// entries cost two sorted sets and a header each, and every write is a script.
//
// A [Sharded] is a Map of many hashes, for one that is too large or too busy for
// one server of a cluster, and for near caches: a write then drops only the copies of
// the entries of its hash. It is not shared with Java.
//
// A [ListMultimap] and a [SetMultimap] have several values for each key, in a list
// or a set, and a key may expire with all of them. A Map of slices would be read and
// written as a whole.
//
// A [Near] is made of any of them, for entries that are read much more often than
// they are written: it answers from the process's memory, in some 100 ns, and
// knows when its copies are not valid any more.
//
// # Keys and values
//
// Two keys are one key if their bytes are equal. Keys are text unless [WithKeyCodec] or
// [WithCodecs] say otherwise: strings as they are, integers in decimal, and types that have
// MarshalText; floats, interfaces and pointers are refused. Values are msgpack
// unless rueidisson.WithCodec, [WithCodec] or [WithValueCodec] say otherwise. For a value that
// another codec has written, operations return [ErrDecode], not a wrong value. The other
// entries can be read.
//
// # Sent once, sent again
//
// Reads are sent again when their reply is lost. Writes are not: the second send comes later
// than its caller thinks, and would overwrite another client's write in between. After
// [ErrOutcomeUnknown] a write was done, or was not, or will be
// for as long as the connection may still deliver it. A Put that is right
// anyway may simply be called again; a Swap or an Add may not.
//
// With [WithRequestIDs] the server remembers each request until its caller has the answer. Then
// writes are sent again, and count once, also copies that come late, for 45 s. It
// costs a script call in place of a command, and one more command.
//
// A write that the server refuses for a passing reason, such as a failover, is
// sent again in any case: nothing was done. When ctx ends, its caller returns at
// once with ErrOutcomeUnknown; a request on its way may still be done.
//
// # Together
//
// Gets of one process on one map that come while another is on its way are sent as
// one HMGET, up to 256 of them and about 256 KB. A Get sees every write that was
// answered before it was called.
//
// Computes on one entry queue in the process: one read, all functions in their order, and one
// write if the entry still is what was read. If it is not, all of it is done again. So a counter
// that a whole process hammers costs the server two calls for each round trip, and functions may
// be called more than once. Processes take their chances: the first that writes wins, and one
// always does. A Compute that has lost for some milliseconds, as one far from the server does,
// leaves a claim with its next try. The Computes of others stand back while the claim exists,
// for a few of its round trips. The comparison alone decides what is written.
//
// # Shared with Java
//
// Both sides must use the same codecs; nothing in Redis names them.
//
//	here                                                   there
//	WithCodec(codec.Text)                                  StringCodec.INSTANCE
//	WithCodec(codec.JSON)                                  new CompositeCodec(StringCodec.INSTANCE, new TypedJsonJacksonCodec(String.class, V.class))
//	WithCodec(codec.Msgpack), of scalars                   new CompositeCodec(StringCodec.INSTANCE, new MsgPackJacksonCodec())
//	WithCodecs(codec.Kryo5, codec.Kryo5), of scalars       Redisson's default, Kryo5Codec
//	WithCodecs(codec.JSON, codec.JSON)                     new TypedJsonJacksonCodec(K.class, V.class)
//
// Traps, each seen:
//
//   - new TypedJsonJacksonCodec(V.class), with one class, does not serve maps: it
//     reads values as LinkedHashMap.
//   - Java's compute, merge and computeIfAbsent read, and write their result later. A write in
//     between is lost. They hold the lock of the entry meanwhile. So give Go's handles of such
//     a map [WithEntryLock]: their Compute acquires that lock. Put and the others do not, in
//     neither library.
//   - Near caches, Java's RLocalCachedMap and ours that are announced, are not told
//     of writes to a plain map, neither by Java's RMap nor by a handle without
//     [WithAnnounce]: they return the old value until something else drops it.
//   - Java's write-behind uses a queue that has the codec of the client, whatever the codec of
//     the map is: with StringCodec nothing comes out of it. It writes the removals of a batch
//     first, so that an entry that was put and removed at once stays in the store. A [Writing]
//     has a queue of its own, and does not see what Java writes.
//   - Java spells doubles in its own way: 1.0, 1.0E7. Do not compare their bytes.
//   - RMapCache.fastPut and putAll without a time keep the times of an entry that
//     exists. Put and PutMany of a [Cache] make it permanent, as RMapCache.put does, unless
//     the call or the handle has [WithKeepTTL].
//   - RMapCache.renamenx fails if one of the keys of a cache is missing, as that of idle
//     times is in most: then it has renamed some of the others. RenameIfAbsent does not.
//   - A name is that of a map or of a cache. The values of a cache have a header: a Java map
//     that reads one fails, and RMapCache.readAllMap fails at a value without one. Here the
//     read returns [ErrWrongKind], and the command line refuses it.
//
// # Caches
//
// An entry of a [Cache] expires when its time to live is over ([WithTTL]), or when it was not
// used for its idle time ([WithMaxIdle]). An expired entry is never returned, and no write
// counts it as existing. Times are of the clocks of the clients, as Redisson's: an entry expires
// early or late by as much as the clocks of its writer and its reader differ. So keep them in
// step (NTP). A client whose clock is ahead sweeps early, too.
//
// The server deletes nothing automatically: clients sweep. Each sweeps the caches
// that it has written such entries to, or listens to, when the next entry is due. One process of
// the fleet sweeps at a time, Go or Java, by Redisson's latch. Expired entries are
// deleted within a second and a round trip, also a million of them: 200 at
// a time, with pauses four times as long as that takes. A process that exits leaves
// its entries to the others that use the cache. If there are none, they stay in
// memory until a process uses it. Where Redisson has just swept, its latch holds Go up
// for 5 s and more. Len counts what was not swept yet.
//
// Each write of a new entry keeps a bound ([Cache.SetMaxSize]); entries that existed
// before the bound are evicted a moment later. Handles learn of a bound within a second. A bound
// by bytes ([Cache.SetMaxBytes]) is ours alone: Redisson neither sees it nor is bound by it.
// It is kept exactly while only this library writes, and by a sample where others do.
//
// A server without memory (OOM) refuses writes, after two tries, and accepts
// reads, removals and sweeps; an entry that is read there counts as used. A server that takes no
// writes at all, for want of replicas or disk (NOREPLICAS, MISCONF), is read, too; that
// does not count as a use.
//
// Puts, Swaps and the like give an entry new times, or none. Operations that replace a
// living value (Replace, CompareAndSwap, Compute, [Add]) keep the times that they
// do not set. Walking ([Cache.All]) and [Cache.TTL] do not count as a use of an entry.
//
// Redisson's own mistakes are not repeated, and their results are read correctly: entries that
// Redisson considers idle although they have no idle time are alive here, though Redisson's
// sweep may drop them.
//
// A process whose clock is more than 5 s ahead of the server's sweeps nothing, and logs
// a warning. What it reads it judges by its own clock all the same.
//
// # Many slots
//
// A [Sharded] map of n is n hashes, each in a slot of its own. Its name holds n as text. A
// handle with another n returns [ErrInvalidArgument] with both numbers, and the server refuses
// commands of a plain map under that name, here or in Java. Handles look there before their
// first exchange, and again when they have not for a second. So for a second a handle does not
// see that the map was deleted and is made anew with another n.
//
// An operation on one entry behaves as on a Map. An operation on several is not of one moment
// and may be done in part: GetMany, PutMany, Remove, Len, Clear, Delete, Expire, and All, which
// walks shard after shard.
//
// A process that gives a map a time to live (Expire), or renames one that has a time to live,
// looks for five seconds whether another process has added entries meanwhile; those stay. If
// that process dies before it has looked, they may be left without the number. None of them is
// lost, but a handle with another n is then accepted, unless one with theirs has written again.
//
// Choose n once, several times the servers that there may ever be: 64 costs nothing until
// all of it is walked, counted or cleared.
//
// # Multimaps
//
// A key of a multimap is there as long as it has a value. What is done to one key is
// one step on the server; what is about all of them goes 1,000 keys at a time. A key
// ends by the clock of the client that has said so ([ListMultimap.Expire]), with
// all values that it has then, and nothing that has ended is ever seen: what is put
// later begins anew. The clients that have called Expire sweep what has ended, as
// they do caches, but without a latch, as Redisson has none here. A process that
// ends leaves that to the next which calls it. On Redis 7.4 and Valkey 9
// [WithNativeExpiry] leaves the time to the server.
//
// What Redisson leaves in the server is read correctly. Its fields without values are no keys,
// and the next write or walk deletes them. Values whose key its sweeper has dropped are not
// seen. Nor is what it has added to a key that had expired, since its own sweeper drops that.
// Its plain multimaps pay no attention to times, and its KeyLen and Len count what has expired.
//
// # Near caches
//
//	near := rmap.NewNear(stock)
//	defer near.Close()
//	tea, there, err := near.Get(ctx, "tea") // no round trip, if there is a copy that counts
//
// Tracked is the default: the server tells a Near when its map changes (CLIENT TRACKING, on one
// connection per node in addition to that of the subscriptions). It does so for every writer:
// Java, redis-cli, its own expiry, FLUSHALL. SWAPDB is the exception: the server does not tell
// of it, and copies are stale up to [WithMaxAge]. The server knows keys and not fields, so each
// write drops the copies of the whole map; of a [Sharded] map those of one shard.
//
// Announced ([WithAnnounced]), the writers tell it which entries they write, in the step of the
// write, by the messages of Redisson: RLocalCachedMap with INVALIDATE, UPDATE or LOAD tells it
// and is told. It is right only if every writer does that: handles that are made with
// [WithAnnounce], near or not. Redisson's plain RMap and RMapCache, redis-cli and a time to live
// that these have set do not, nor does a server that evicts the key or is flushed: copies are
// stale up to [WithMaxAge] then. One message costs what one entry costs, so it is for maps that
// are written often.
//
// A [Cache] announces on the channel that a Map does. For the entries that a call names, or for
// all, it sends Redisson's Invalidate and Clear. For entries that a bound or a sweep drops in
// addition, it sends a message that is ours alone: R and the keys. Redisson has a near cache of
// an RMapCache only in its PRO edition, RLocalCachedMapCache, which was not tried: do not count
// on it to understand that message. Do not open an RLocalCachedMap on a cache, whose values have
// a header. Java's RMapCache and its sweeper announce nothing: where Java writes a cache, use
// tracked near caches.
//
//	                                            Tracked                   Announced
//	right against                               every writer              writers that announce
//	a write drops                               the map, or a shard       the entry
//	own writes, of the same Near                not stale                 not stale
//	others', while the connection is alive      until the message, some 10 µs, of either
//	a connection that ends                      not stale: all dropped    WithMaxSilence
//	a silent one, a process that slept          WithMaxSilence, 3 s: then it is the map, and all dropped
//	at any rate                                 WithMaxAge, 10 min
//	of maps                                     any                       those made with WithAnnounce
//
// A Near never waits until messages arrive again. While there is no connection, or it is silent,
// or during a slot migration of the map, it reads the map that it was made of. If a server has
// no tracking, or a client speaks RESP2, a tracked one always does: [Near.Stats] says so. A
// tracked map of a cluster that is not read for so long is silent, too. Something in between may
// replace a connection to the server that has ended, and keep the client's: the next look at it
// sees that, and all copies are dropped. An announced one on a cluster hears what is published on
// the server that it takes for the map's. A server that was cut off from the others but not from
// this process is believed until the client learns better, up to 30 s.
// not from this process is believed until the client learns better, up to 30 s.
// Redisson's log for clients that were disconnected (sync and reconnection LOAD) is kept by
// writes here once it exists. A writer with LOAD begins it. Where Java only reads, let it drop
// all when it reconnects (CLEAR).
// only reads, let it drop all when it reconnects (CLEAR).
//
// [WithMisses] keeps that there is no entry, too, [WithMaxBytes] bounds the copies by their
// bytes, and [Near.Preload] reads the map before anybody asks.
//
// A copy of an entry of a Cache or a TTLMap goes when the entry does, also where
// somebody moves that end forward: a Near of a Cache is told of ends, too. By one that is tracked
// a Touch drops all, as a write does; by one that is announced it drops the entry. To read a copy
// is no use of the entry of a Cache. Values are handed out as they are kept: do not
// change what they point to.
//
// # Loaders
//
// [NewLoading] puts a loader in front of what is slower:
//
//	products := rmap.NewLoading(rmap.NewCache[string, Product](c, "products", rmap.WithTTL(time.Hour)), db.Product)
//	tea, there, err := products.Get(ctx, "tea")
//
// However many callers miss an entry at the same time, in all processes of the fleet, one calls
// the loader. Each of the others has the value one round trip after it was written. They wait
// for as long as their contexts let them. A loader whose process dies is replaced when the load
// timeout and half a second have passed.
//
// A Put or a Remove during a load counts: the older result of the load is not written, and
// callers that wait for it get the newer value. For a Cache this holds for every writer with
// this library. For a Map and a TTLMap a Remove has to be made by a Loading. Of Java's writers
// fastPut is respected there, and fastRemove is not; nor is what Java has put into a TTLMap with
// a time to live that was over before the load was.
//
//	                     what a load takes                      one call with Java's loader, too
//	Map, TTLMap          a lease of ours, the lock of the entry yes
//	Sharded              a lease of ours, the lock of the entry there is none
//	Cache                Redisson's lease of the entry          with getWithLease
//	Cache, WithEntryLock that, and the lock of the entry        yes, both
//
// Redisson's own loader writes what it has loaded over any value, also over a newer one that was
// put meanwhile. A holder of the lock of the entry ([Loading.Lock]) puts after it.
//
// With [WithLoadMany] one call of the source loads the misses of one [Loading.GetMany].
// [Loading.Refresh] and [Loading.LoadAll] load existing entries anew.
//
// With [WithLoadTTL] the source says how long an entry lives. With [WithTTLJitter] entries that
// were loaded at once expire at different times. With [WithLoadBackoff] a source that fails is
// not asked for a key again at once. With [WithStaleOnError] readers get its last value then.
//
// A load is as fresh as its question to the source: the value of that moment is
// written. So change the source first, and the map, by Put or Remove, after
// it. Clear does not delay loads that are under way. A loaded value is offered for a
// watchdog timeout to a server that refuses it for a moment, as one without memory does.
// On a map with [WithAnnounce] near caches are told of loaded values, too.
// Leases expire by the clock of the server: if that is set back, the others wait by as
// much longer for a process that has died.
//
// # Writers
//
// [NewWriting] writes the changes of a map to a store, too. In write-through mode, the default,
// it writes to the store first, under the lock of the entry. In write-behind mode ([WithBehind])
// it writes later, in batches, by one process of the fleet at a time.
//
//	stock := rmap.NewWriting(rmap.New[string, int](c, "stock"), db.Save, rmap.WithBehind(100))
//	defer stock.Close(ctx) // waits until the store has what is queued
//
//	                         write-through                    write-behind
//	the store has a change   before its caller goes on        a delay later, at least once
//	its error                changes nothing                  is tried again, for ever or WithMaxRetryTime
//	its call takes too long  its context ends after WithWriteTimeout, 30 s
//	changes of one entry     one after the other              in order; of a batch the last
//	several at once          WithWriteMany: one call          WithBehind: one call
//	a process dies           the store may be ahead of the    nothing is lost
//	                         map by the change under way
//	a server forgets         nothing of the store             what was not written yet, as a map does
//
// If the writer of a process fails, or takes too long, the process gives the turn back after
// three calls. It then tries only if the oldest change was not written by others during its
// pause. Each process that uses a handle looks once in a watchdog timeout for changes
// that a killed process left. A batch has about 1 MB at most, or one change that is
// larger. A process that cannot reach the store leaves it to others (WithOthersWriting).
//
// A change that the writer [Discard]s, or has refused for WithMaxRetryTime, is dead: it is
// kept aside for [Writing.Dead], [Writing.Redrive] and [Writing.Purge], the last 10,000
// (WithDeadLimit). No dead change is redriven over a newer change of its entry.
//
// If the store does not keep up, writes return [ErrBacklog], at once or when [WithBacklogWait] is
// over. [Writing.Flush] waits for what is queued, and [Writing.Backlog] counts it.
//
// A [Loading] on top of a Writing, or of its map anywhere in the fleet, loads no entry whose
// change is on its way to the store: it returns what is queued. A change ends the
// loads of its entry that are under way, so that none of them overwrites it later.
//
// A process that was paused for longer than its hold may write late. In write-behind mode the
// context of write has a fencing token, which a store can compare. In write-through mode the
// lock keeps writers apart for as long as it is held. What the store has taken stays queued
// while the server refuses to forget it. What the server has forgotten of its own, by a failover
// or an eviction, may be in the store and not in the map.
//
// # What it does not promise
//
// A failover may forget the last writes, and a server that evicts keys the whole
// map: use maxmemory-policy noeviction. All walks a map that others change: an entry that
// exists throughout comes at least once. If the map moves to another server
// meanwhile, by a failover or a slot migration, the walk begins anew, and entries
// come twice. An answer of a walk has about 1 MB, or one entry. Of
// servers before Redis 7.4 and Valkey 8.0 it may have one bucket of the server's hash table. A
// server that refuses INFO cannot be told from another. PutMany, GetMany and Remove of more than
// one command are not of one moment. Expire is
// about the whole map: an entry of a plain map has no time of its own. During a slot migration
// of a cache, or of a map with a Writing, the servers postpone its scripts, which have several
// keys: a call waits as long as it is sent again, and then returns [ErrSlotMoving].
//
// # Redisson's operations
//
// Each operation of RMap, RMapCache, RMapCacheNative, RListMultimap and RSetMultimap, and
// what it is here, or why it is not.
//
//	Redisson                                         here
//	get, getAll, containsKey, size                   Get, GetMany, Has, Len
//	fastPut, putAll, put                             Put, PutMany, Swap
//	putIfAbsent, fastPutIfAbsent                     PutIfAbsent
//	putIfExists, replace, fastReplace                Replace
//	replace(k, old, new), remove(k, v)               CompareAndSwap, CompareAndRemove
//	fastRemove, remove, clear                        Remove, Take, Clear
//	compute, computeIfPresent, merge                 Compute
//	computeIfAbsent                                  ComputeIfAbsent
//	addAndGet                                        Add
//	entrySet, keySet, values, and their iterators    All, Keys, Values
//	randomKeys, randomEntries                        RandomKeys, RandomEntries
//	getLock, getFairLock, getReadWriteLock           Lock, FairLock, RWLock
//	getSemaphore, getPermitExpirableSemaphore        Semaphore, PermitSemaphore
//	getCountDownLatch                                Latch
//	getWithTTLOnly                                   Peek, PeekMany
//	remainTimeToLive(k)                              TTL, TTLMany
//	expireEntry, expireEntries and their conditions  Touch, ExpireEntries
//	clearExpire(k)                                   ClearExpire, Touch with WithTTL(0)
//	setMaxSize, trySetMaxSize                        SetMaxSize, SetMaxSizeIfAbsent, MaxSize; by bytes SetMaxBytes, MaxBytes
//	addListener                                      Events
//	getWithLease, putWithLease                       NewLoading
//	loadAll, MapLoader, MapWriter                    LoadAll, NewLoading, NewWriting
//	expire, clearExpire, remainTimeToLive            Expire, ExpireAt, Persist, Remaining
//	rename, renamenx, copy, sizeInMemory             Rename, RenameIfAbsent, Copy, SizeInMemory
//	delete, isExists                                 Delete, Exists
//	containsValue, valueSize                         All: they read the whole map
//	readAllMap, readAllKeySet, readAllValues         All, Keys, Values: an answer has a bound
//	filterKeys, filterValues, filterEntries          All, with WithMatch
//	mapReduce, async and reactive twins              none: goroutines
//	putIfAllKeysExist, putIfAllKeysAbsent            none: not of every server
//
//	RListMultimap, RSetMultimap                      ListMultimap, SetMultimap
//	put, putAll, get, getAll                         Put, PutAll, Get
//	get(k).size, get(k).range                        Count, Range of a list
//	containsKey, containsEntry, containsValue        Has, HasEntry, HasValue
//	remove, removeAll, fastRemove, replaceValues     Remove, RemoveAll, RemoveKeys, Replace
//	fastRemoveValue                                  none: All and Remove
//	keySize, size, keySet, entries, values           KeyLen, Len, Keys, All, Values
//	expireKey                                        Expire, Persist, TTL
//	expire, clearExpire, delete                      ExpireAll, PersistAll, Delete
//
// # In Redis
//
//	name                             hash: a field for each entry
//	redisson__timeout__set:{name}, redisson__idle__set:{name}    zset: of a cache, when entries end
//	redisson__map_cache__last_access__set:{name}                 zset: of a bounded cache, their last use, or how many
//	{name}:redisson_options          hash: of a cache, its bounds, what it has of a bound by bytes, and whether somebody listens
//	redisson__execute_task_once_latch:{name}                     string: who sweeps a cache
//	redisson__map__lease:{name}:*    string: who loads an entry of a cache; a write deletes it
//	rueidisson_map_lease:{name}:*    string: who loads an entry of another map; a removal by a Loading deletes it, and a write with a time to live
//	rueidisson_map_loaded:{name}:*   channel: what came of a load, for those who wait for it
//	{name}:rueidisson_writes         stream: changes that are still to be written to a store
//	{name}:rueidisson_pending        hash: which of them is the last of an entry
//	{name}:rueidisson_dead           stream: changes that the store has refused for good
//	{name}:rueidisson_dead_last      hash: which of them is the last of an entry, until the store has something newer
//	{name}:rueidisson_drain          fenced lock: who writes them
//	redisson_map_cache_*:{name}      channels: events of a cache
//	{name}:topic                     channel: what writers that announce tell near caches, of a map or a cache
//	redisson__cache_updates_log:{name}   zset: the same, of a map, for clients that were disconnected, if it was begun
//	{name}:disabled-keys, {name}:disabled-caches   what a transaction of Redisson's keeps from near caches
//	rueidisson_map_claim:{name}:*    string: which Compute of an entry goes before others, a second at most
//	rueidisson_map_done:{name}:*     string: the answer to a request with an id, until it has come, 45 s at most
//	{name}:<hash of the key>:lock    the lock of an entry; fairlock, rw_lock, semaphore and so on: its other objects
//	name                             of a multimap, hash: an id for each key, the hash of it
//	{name}:<hash of the key>         list or set: the values of a key of a multimap
//	{name}:redisson_list_multimap_ttl, {name}:redisson_set_multimap_ttl    zset: when keys end
//	name, {name:0} to {name:n-1}     of a sharded map, string: how many shards; hashes: their entries
//
// The braces in derived keys are there in Redis: a hash tag. A name with braces
// of its own is not wrapped in others.
package rmap
