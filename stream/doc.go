// Package stream is logs that a fleet shares, Go and Java: typed entries that stay until they are trimmed, and groups of
// consumers that read them. They use the keys of Redisson's RStream, byte for byte.
//
//	payments := stream.New[string, int](c, "payments")
//	billing := payments.Group("billing")
//	if _, err := billing.Create(ctx, stream.FromStart); err != nil {
//		return err
//	}
//	_, err := payments.Add(ctx, map[string]int{"order": 7, "cents": 250})
//
// A [Stream] keeps its entries in the order of their IDs. [Stream.Range] and [Stream.Reverse] walk entries that are there.
// [Stream.ReadFrom] also waits for later ones. None of them marks an entry as read. [WithMaxLength], [Stream.Trim] and
// [Stream.TrimBefore] drop the oldest entries.
//
// The consumers of a [Group] share the entries: each entry goes to one of them, and is pending until it is acknowledged.
// Every group has all entries. [Group.Consume] reads entries, which [Group.Ack] acknowledges. [Group.Messages] reads
// messages that have outcomes of their own, with attempts, backoff and dead letters.
//
// Handles do no I/O. The first operation returns the error of an invalid name or option. A handle holds nothing, so any
// number of goroutines may use it, and any number of handles on one name are the same stream.
//
// # What it guarantees
//
// A group delivers each entry after its beginning at least once, as long as the stream has the entry. An entry whose consumer does not acknowledge it
// within [WithIdle] is redelivered to a consumer of the group. That happens if a consumer dies, takes too long, or if its
// acknowledgement is lost. Only an entry that was removed or trimmed before it was acknowledged is not redelivered. A
// connection that breaks loses no entry: what was on its way is redelivered.
//
// Entries that a loop has read and not yielded when it ends are given back at once, as if they had not been delivered.
// Other waiting consumers of the group are notified. If giving back fails, they are redelivered after the idle time.
//
// A message is put aside at most once, whatever reply is lost. A consumer that has lost a message to another consumer
// changes nothing: Ack, Nack and Bury return [ErrLost].
//
// The server does what is about one entry in one step. What only reads is sent again when its reply is lost. Writes are
// sent once, and return [ErrOutcomeUnknown] if their reply is lost, except those whose comments say otherwise.
//
// # What it does not guarantee
//
// An entry is not handled exactly once. Handlers have to bear a second delivery. An [Stream.Add] whose reply was lost may
// have been done. With [WithID] a second Add of the same entry changes nothing, and returns Redis' error.
//
// There is no order between the consumers of a group, nor between a message that is redelivered and later ones.
//
// A message counts an attempt if its consumer died, also one that the consumer had read and not begun to handle:
// see [WithMaxAttempts].
//
// A failover may forget the last entries and acknowledgements. A server that evicts keys may delete the whole stream: use
// maxmemory-policy noeviction. Nothing trims a stream automatically. Of the dead letters of a group about the last 10,000
// stay.
//
// Names of consumers stay on the server after their processes have ended. [Group.RemoveConsumer] removes one that has no
// entries.
//
// # Waiting
//
// [Group.Consume], [Group.Messages] and [Stream.ReadFrom] wait until ctx ends or the client is closed. A wait also ends
// when its group is destroyed, and after an outage that has lasted for a watchdog timeout. All waiting readers of a client, whatever their
// streams and groups, share one connection for each server. On a cluster a connection serves the streams of one slot. Where
// more slots are waited for than rueidisson.WithBlockedConnections allows, the last connection of the node polls the
// others. One consumer of a group looks for entries at a time.
//
// # Sequences
//
// An error of a sequence that wraps rueidisson.ErrNotice, such as an entry that does not decode, does not end it. Any other
// error is its last element. [Group.Consume] and [Group.Messages] have a complete loop each.
//
// # Fields and values
//
// Fields are text unless [WithFieldCodec] or [WithCodecs] say otherwise. Values are msgpack unless rueidisson.WithCodec,
// [WithCodec] or [WithValueCodec] say otherwise. Both sides must use the same codecs, because nothing in Redis names them.
// For an entry that another codec has written, operations return a *[codec.DecodeError] with the ID and the bytes. The other
// entries can be read.
//
// # In Redis
//
//	name                                   stream: the entries and the groups
//	rueidisson_stream_dead:{name}:<group>  stream: what a group has put aside
//	rueidisson_queue_done:{name}:<id>      string: the answer to a request, for 45 s at most
//	rueidisson_stream_returned:{name}      channel: groups to which entries were given back
//
// See docs/guide/streams-and-topics.md for programs and costs, docs/migrating.md for codecs and the methods of Redisson, and
// docs/redis.md for keys and commands.
package stream
