// Package bitset is bits that a fleet shares, Go and Java, on the keys of Redisson's RBitSet: up to 2^32 of them under a
// name, which can be set, counted and combined, and numbers of some bits each.
//
//	seen := bitset.New(c, "visitors:2026-11-29")
//	was, err := seen.Set(ctx, userID)
//	...
//	n, err := seen.Count(ctx)
//
// # Which one
//
// A bitset is for members that are numbers without large gaps: user 5, seat 17, day 200 of a year. It has an eighth of
// a byte for each number up to the highest one: 1.2 MB for ten million users, however many are in it. Members that
// are few among large numbers, or no numbers, belong in a set. A [Field] is a small number at a place of its own, such as
// the level of player 5: a bitset of such has no names and no gaps. Bytes that are no bits are bucket.Bytes, of the same
// key type.
//
// # What it promises
//
// Each call to the server is one step, in the order of the server. One call has up to 4,096 offsets, a range of up
// to 2,097,152 bits, a count of up to 4 MB, and any number of bits of [Set.And], [Set.Or], [Set.Xor] and [Set.Not]. What
// needs more of them is done in pieces, between which others may change the bitset: comments say where.
//
// A write is sent once. If its reply is lost, or the caller stops waiting, it returns [ErrOutcomeUnknown]: it may have been
// done, or may be done still. Set and Clear may be repeated then. Not, Xor and Add may not. Reads are sent again, and write
// nothing.
//
// A key of another type keeps what it has, and the operation returns an error. Every write keeps the time to live.
//
// # What it does not promise
//
// The server makes room up to the highest bit that is set, at once: 512 MB for the last one, and nothing else is done until
// it has, for seconds where memory is slow. Clearing makes no room, and gives none back; Delete does.
//
// A failover loses writes that the new master did not know. A bitset that the server evicts, or that expires, is all
// zeros.
//
// Handles do no I/O. The first operation reports an invalid name.
//
// See docs/guide/values.md for programs, docs/migrating.md for the methods
// of Redisson, and docs/redis.md for keys and commands.
package bitset
