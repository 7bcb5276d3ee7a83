// Package sortedset is sets in an order that a fleet shares, Go and Java: each member has a score, on the keys of Redisson's scored
// sorted sets, byte for byte. Texts may have their own order instead, and places their positions.
//
//	scores := sortedset.New[string](c, "scores")
//	now, err := scores.AddScore(ctx, 25, "ann")
//	if err != nil {
//		return err
//	}
//	for e, err := range scores.Range(ctx, 0, 9, sortedset.WithDescending()) { // the ten best
//		…
//	}
//
// # Which one
//
// A [Set] is for rankings, and for what is found by a number: a leaderboard, points of time, prices. Elements that are taken, each by
// one process, in the order of their scores, are in a priority queue (package queue), which can wait for them. A value that is
// found by a key, without an order, is an entry of a map (package rmap). A [Lex] is for texts that are found by their first letters:
// Redisson's RLexSortedSet. A [Geo] is for places on the earth, and for what is near them: Redisson's RGeo.
//
// # What it promises
//
// Each command is one step on the server: an answer is of one moment, and no write of another client gets lost in between. A walk
// is several steps, in pages that are bounded by bytes and by time. It goes on after the last member that it has seen, also if that
// was removed, and also at another server. So [Set.All] returns each member once whose score stays, whatever others do
// meanwhile.
//
// A write is sent once. If its reply is lost, or the caller stops waiting, it returns [ErrOutcomeUnknown]: it may have been
// done, or may be done still. Reads are sent again, and write nothing. A key of another type is an error, and keeps what it has.
//
// No score is infinite or no number: such a score is [ErrInvalidArgument], and so is a sum of [Set.AddScore] that would be
// infinite. Java cannot read a set that has one. What another client has written is read nevertheless.
//
// # What it does not promise
//
// Operations on many members are one step only as far as their comments say. What is popped is gone from the server: the members of a
// lost reply are lost. [Set.UnionInto], [Set.InterInto], [Set.DiffInto], [Set.RangeInto] and [Geo.WithinInto] overwrite a key of any type, and stop the
// server for as long as they take. A failover loses writes that the new master did not know.
//
// A set without members does not exist, and has no time to live.
//
// # Members
//
// They are compared by their bytes, and members of one score are in their order. They are text for types that have a text: strings,
// numbers, what implements encoding.TextMarshaler. Others have the client's codec, unless [WithCodec] or [WithMemberCodec] say
// otherwise; both sides must use the same codec, since nothing in Redis names it. A type that contains a map or an interface
// is refused, because equal values may have different bytes. A member that another codec wrote comes as a *[codec.DecodeError].
//
// Scores are float64: integers are exact up to 2^53.
//
// # Places
//
// The score of a place is the cell of its position that GEOADD computes, bit for bit; positions, distances and geohashes are those that Redis
// computes from it. They are read as scores are. Only at the longitude 180 and at the highest latitude this package chooses the last cell, and not
// the one beyond: there GEOSEARCH finds nothing, in Redis 7.0 and 8.0 and in Valkey 8.1. What Redisson puts exactly there is found by
// [Geo.Within], and not written by [Geo.WithinInto].
//
// # Together
//
// Scores of one process of one set that are asked for while others are on their way are read by one command, up to 256.
//
// Handles do no I/O. The first operation reports an invalid name or option.
//
// See docs/guide/values.md for programs, docs/migrating.md for codecs and the methods
// of Redisson, and docs/redis.md for keys and commands.
package sortedset
