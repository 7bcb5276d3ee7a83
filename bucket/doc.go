// Package bucket is single values that a fleet shares, Go and Java: typed, one key each, on the keys of Redisson's buckets,
// byte for byte.
//
//	price := bucket.New[Price](c, "price:42")
//	if err := price.Set(ctx, p, bucket.WithTTL(time.Hour)); err != nil {
//		return err
//	}
//	now, there, err := price.Update(ctx, func(old Price, had bool) (Price, bucket.Verdict, error) {
//		old.Cents += 50
//		return old, bucket.Store, nil
//	})
//
// # Which one
//
// A [Bucket] is one value: Redisson's RBucket. It serves for what is read and written as a whole: a setting, a session, a
// cached answer. [Many] reads and writes the buckets of many names together: RBuckets. [Bytes] is read and
// written in parts, as a file is: RBinaryStream. [JSON] is a document whose parts the server knows. They are read and
// written by a path: RJsonBucket. It needs the module RedisJSON. Without it operations return errors.ErrUnsupported, except those that are
// about any key: Delete, Exists, Expire, Persist, Remaining, Rename and Copy.
//
//	doc := bucket.NewJSON[Product](c, "product:42")
//	left, there, err := bucket.NumberAt[int64](doc, "$.stock").Add(ctx, -1)
//	n, there, err := bucket.ArrayAt[string](doc, "$.tags").Append(ctx, "new")
//
// Values that belong together, and are read by a key, are entries of a map (package rmap). A number that many processes
// add to is a counter. Work that is done once is in a queue.
//
// # What it promises
//
// Each operation on one bucket is one step on the server, in the order of the server: an answer is of one moment, and no
// write of another client gets lost in between. [Bucket.Update] and [Bucket.CompareAndSwap] write only over what they
// have seen. No Update is answered from a state that was not written. An Update of a client that is far from the server
// gets its turn among the Updates of clients that are near.
//
// A write is sent once. If its reply is lost, or the caller stops waiting, it returns [ErrOutcomeUnknown]: it may have been
// done, or may be done still. Reads are sent again, and write nothing.
//
// Compare and swap, Update, [Bucket.Swap] and [Bucket.Take] leave a key of another type as it is, and return an error. So do all
// operations of [JSON] and its parts, except those that are about any key: Delete, Expire, Persist, Rename and Copy.
//
// # What it does not promise
//
// [Bucket.Set], [Bucket.SetIfExists] and [Many.Set] overwrite a key of any type, as Redis' SET and Redisson do. To
// [Many.Get] a key of another type is no bucket.
//
// Operations on several buckets are one step only as far as their comments say. On a cluster that is one slot at a time.
// What is read and written in pieces of 256 KB, by [Bytes], may change between two pieces.
//
// A failover loses writes that the new master did not know. A bucket that the server evicts, or that expires, is one that
// does not exist: an Update finds none. Writes other than Updates do not stand back for an Update.
//
// On a server that lacks a command (rename-command) operations return errors.ErrUnsupported.
//
// What Swap and Take return is gone from the server. A value that takes longer on its way than a send has, which is 3 s
// for about 24 MB, is lost then, and they return ErrOutcomeUnknown, unless the client has read a value as long before.
//
// # Time to live
//
// What Set, Swap and CompareAndSwap write is permanent unless the call or the handle has [WithTTL] or [WithKeepTTL], as in
// Redisson. Update keeps the time that the bucket has, unless WithTTL says otherwise. [Bytes], [JSON.Merge] and the parts of a
// document always keep it. The set of Redisson's RJsonBucket keeps it, too.
//
// # Values
//
// They are msgpack unless rueidisson.WithCodec, [WithCodec] or [WithValueCodec] say otherwise; both sides
// must use the same codec, since nothing in Redis names it. What another codec has written comes as a
// *[codec.DecodeError] with its bytes. A value has 512 MB at most, or rueidisson.WithMaxValue.
//
// Documents are plain JSON, by codec.JSON, as Redisson's JacksonCodec writes it. The module keeps integers of 64 bits, and
// other numbers as float64. In a Go value of type any each number is a float64: take int64 where an integer may be beyond 2^53.
// The module may read a number of more than 15 digits that is no integer as the float64 next to it. CompareAndSwap does not find
// such a number equal to the one that was written.
//
// # Together
//
// Gets of one process of one bucket that come while others are on their way share an answer. Updates
// of one process of one bucket are applied to one read, in their order, and written by one write: a hundred goroutines
// that change one bucket cost two round trips each time, not a hundred.
//
// Handles do no I/O. The first operation reports an invalid name or option.
//
// See docs/guide/values.md for programs, docs/migrating.md for codecs and the methods
// of Redisson, and docs/redis.md for keys and commands.
package bucket
