// Package list is lists that a fleet shares, Go and Java: typed elements by index, on the keys of Redisson's RList, byte for
// byte.
//
//	songs := list.New[string](c, "playlist:42")
//	if _, err := songs.Append(ctx, "first", "second"); err != nil {
//		return err
//	}
//	did, err := songs.Insert(ctx, 1, "between")
//
// # Which one
//
// A list is for elements that stay, in an order of their own, and are read by index: a playlist, a history, the steps of a
// plan. Elements that are each for one taker are in a queue (package queue), which is the same key: its Take waits, and
// what a caller has left is put back. The newest n elements are a ring of that package. What is found by a key is a
// map (package rmap), and one value as a whole is a bucket.
//
// # What it promises
//
// Each operation about an index is one step on the server: the element that [List.Set] and [List.RemoveAt] return is the one
// that they have replaced or removed, and no other. [List.Append] of up to 5,000 elements or 1 MB is one step, and so
// is [List.Insert].
//
// A write is sent once. If its reply is lost, or the caller stops waiting, it returns [ErrOutcomeUnknown]: it may have been
// done, or may be done still. Reads are sent again, and write nothing.
//
// A key of another type keeps what it has, and the operation returns an error. Writes keep the time to live of a list; one that
// becomes empty is gone, and with it that time.
//
// # What it does not promise
//
// An index is that of a moment: others may insert or remove before it, between two calls or two parts of [List.Range] and
// [List.All]. These may miss elements then, or have some twice.
//
// What RemoveAt returns is gone from the server. If the reply is lost, so is the element.
//
// A list is fast at both ends. The server walks to an index in between, and through the whole list for a value: 26 ms in a
// million elements, in which it does nothing else.
//
// A failover loses writes that the new master did not know. A list that the server evicts, or that expires, is empty.
//
// # Elements
//
// They are msgpack unless rueidisson.WithCodec, [WithCodec] or [WithValueCodec] say otherwise; both sides
// must use the same codec, since nothing in Redis names it. What another codec has written comes as a
// *[codec.DecodeError] with its bytes. Elements are compared by bytes.
//
// Handles do no I/O. The first operation reports an invalid name or option.
//
// See docs/guide/values.md for programs, docs/migrating.md for the methods
// of Redisson, and docs/redis.md for keys and commands.
package list
