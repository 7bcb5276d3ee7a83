// Package timeseries is values by time that a fleet shares, Go and Java: each with a time of its own, and perhaps a label and a time to
// live, on the keys of Redisson's RTimeSeries, byte for byte as its version 4.7.0 writes them.
//
//	temperatures := timeseries.New[float64](c, "temperatures", timeseries.WithTTL(24*time.Hour))
//	if err := temperatures.Add(ctx, time.Now(), 21.5, timeseries.WithLabel("roof")); err != nil {
//		return err
//	}
//	for e, err := range temperatures.Range(ctx, time.Now().Add(-time.Hour), time.Now()) {
//		…
//	}
//
// # Which one
//
// A [Series] is for what was measured or happened at a time, and is read by it: the last hour, the last ten, all of a day. Values that are
// different, each with one place in the order, are members of a sorted set (package sortedset): there a value that is added
// again moves. Messages that consumers take, each one once, with confirmation, belong to a stream (package stream) or to a queue. Numbers
// that are added up by minutes or days are counters.
//
// # Times
//
// Times are counted in whole milliseconds. What is less is cut off, also from the bounds of a range. Several entries may have one
// time, also equal ones. They come in the order of their bytes: those of one form in that of random ids.
//
// The server takes any number for a time, and so does Java: of a series whose times are in another unit, such as 202611300259, the number n is
// time.UnixMilli(n).
//
// # What it promises
//
// An Add is one step on the server, with the time to live of the entry: it appears whole. So are 200 entries or 1 MB of
// [Series.AddMany], and 300 or 1 MB of what [Series.PopFirst], [Series.PopLast] and [Series.RemoveRange] remove. An entry is popped by one caller.
// First, last, and pops go by the times of entries. (Redisson's go by when entries expire.)
//
// A walk is several steps, in pages that are bounded by bytes and by time. It goes on after the last entry that it has seen, also if that
// was removed, and also at another server. So [Series.All] and [Series.Range] return each entry once that stays meanwhile.
//
// A write is sent once. If its reply is lost, or the caller stops waiting, it returns [ErrOutcomeUnknown]: it may have been
// done, or may be done still. Reads are sent again, and write nothing. A key of another type is an error, and keeps what it has. What is
// no entry, and what another codec wrote, comes as a *[codec.DecodeError] with its bytes, and walks continue.
//
// # What it does not promise
//
// An Add that is repeated after ErrOutcomeUnknown may have added two entries. A reply that is lost loses what was popped. Work that
// must be done belongs to a reliable queue.
//
// A failover loses writes that the new master did not know, unless rueidisson.WithReplicaAcks has them confirmed. If the server evicts the key
// of the times to live alone, entries stay for ever. If somebody deletes the key of the entries alone, their times to live
// stay, until an entry is added, or they expire.
//
// # Times to live
//
// The end of an entry is counted by the clock of the client that adds it, and compared with the clock of the client that asks,
// as in Redisson. So keep clocks in step (NTP). The server deletes nothing automatically: clients that have added entries with an end
// sweep them, 500 at a time, one Go process of the fleet at a time. Java sweeps whenever a process of it uses the series. A process whose clock is more
// than 5 s ahead of the server's sweeps nothing, and logs that. If all of them have ended, expired entries take memory until one comes.
//
// An entry without a time to live ends in 100 years, as in Redisson.
//
// # Values and labels
//
// Both have the client's codec, unless [WithCodec] or [WithValueCodec] say otherwise; both
// sides must use the same codec, since nothing in Redis names it. A label is a text. What a newer Redisson has written, whose entries have
// another form, is read, too.
//
// Handles do no I/O. The first operation reports an invalid name or option.
//
// See docs/guide/values.md for programs, docs/migrating.md for codecs and the methods
// of Redisson, and docs/redis.md for keys and commands.
package timeseries
