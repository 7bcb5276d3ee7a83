// Package set is sets that a fleet shares, Go and Java: of typed members, one key each, on the keys of Redisson's RSet and
// RSetCache, byte for byte.
//
//	online := set.NewCache[string](c, "online", set.WithTTL(time.Minute))
//	if _, err := online.Add(ctx, user); err != nil { // again every 30 seconds
//		return err
//	}
//	there, err := online.Has(ctx, user)
//
// # Which one
//
// A [Set] has members that stay: Redisson's RSet. Each member of a [Cache] may have a time to live: RSetCache.
// A key per member, a bucket with a time to live, expires at the server, to the millisecond, and without a sweeper. But it takes
// about 60 bytes more, and nobody can count or walk the members. Take a Cache where they belong together, and a bucket where
// each has a value.
//
// "Is it there" may be asked of other objects, too. A set is exact. A number of different values without the values is a
// counter.Distinct. Members with values are entries of a map, and members in an order belong to a sorted set.
//
// # What it promises
//
// Members are equal if their bytes are. Each command is one step on the server: 2,000 members or 1 MB, of [Cache.Add] 1,000.
// [Set.AddAllIfAbsent], [Set.Move], [Set.UnionInto] and the like are one step in all.
//
// A write is sent once. If its reply is lost, or the caller stops waiting, it returns [ErrOutcomeUnknown]: it may have been
// done, or may be done still. Adding and removing the same members again does no harm; what they answer then is about the
// second time. Reads are sent again, and write nothing.
//
// Operations leave a key of another type as it is, and return an error. Only [Set.UnionInto], [Set.InterInto] and
// [Set.DiffInto] write over whatever has the name of the result.
//
// # What it does not promise
//
// Walks ([Set.All], [Set.Union], [Set.Inter], [Set.Diff], [Set.Retain]) are not of one moment. A member that is there throughout
// comes at least once, perhaps twice.
//
// A reply that is lost loses what [Set.Pop] has removed: it returns ErrOutcomeUnknown. Work that must be done belongs to a
// reliable queue.
//
// A failover loses writes that the new master did not know, unless rueidisson.WithReplicaAcks has them confirmed.
//
// # Times to live
//
// The end of a member is counted by the clock of the client that adds it, and compared with the clock of the client that asks,
// as in Redisson. So keep clocks in step (NTP). The server deletes nothing automatically: clients that have added members with an end, or
// listen ([Cache.Expired]), sweep them, a thousand at a time, one process of the fleet at a time, Go or Java. A process whose clock is
// 5 s off the server's sweeps nothing, and logs that. If all of them have ended, expired members take memory until one comes.
//
// # Members
//
// They are text for types that have one, else in the client's codec, unless [WithCodec] or [WithMemberCodec] say otherwise; both
// sides must use the same codec, since nothing in Redis names it. Java's StringCodec reads text. A type that
// contains a map or an interface is refused: equal values of it may have different bytes. What another codec has written comes as a
// *[codec.DecodeError] with its bytes.
//
// # Together
//
// Has of one process of one set that come while others are on their way go out together: up to 256 in one command.
//
// Handles do no I/O. The first operation reports an invalid name or option.
//
// See docs/guide/values.md for programs, docs/migrating.md for codecs and the methods
// of Redisson, and docs/redis.md for keys and commands.
package set
