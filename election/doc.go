// Package election elects a leader among the processes of a fleet: one at a time,
// in the order in which they asked, with a value that all can see, such as its
// address.
//
//	term, err := c.Election("scheduler").Campaign(ctx, "10.0.0.7:8080")
//	if err != nil {
//		return err
//	}
//	defer term.Resign(context.Background())
//	return schedule(term.Context(ctx)) // ends before a successor is elected
//
// A [Term] is a hold of a fair lock with a fencing token: packages lock and fairlock
// say what holds promise, package fence what a token is for. Redisson has no such
// object.
//
// # What is promised
//
//   - At most one leader at a time whose [Term.Context] lives, while the server
//     keeps what it was told: the context ends before the server lets a successor
//     be elected, also if the network is silent or the process was paused.
//   - The token of each term is higher than those of all before, over a failover
//     and a FLUSHALL as well; of a server's clock that is behind see package fence.
//   - Candidates are elected in the order of the server's queue, over all
//     processes. One that was killed is passed over at once, a silent one within
//     1.5 s; a leader that was killed is succeeded when its lease ends.
//   - An observer is told the leaders in the order of their terms, and none that was
//     not one; whom it did not see is a [Leader.Gap]. It is told as soon as the
//     leader's message comes, and within 5 s if there was none, such as after a
//     failover. If the server is not reached, it is told an [ErrDisconnected], and an
//     [ErrReconnected] when it is reached again.
//   - A request that is sent twice, or arrives late, changes nothing: neither the
//     leader nor its value, which has versions.
//
// # What is not
//
//   - What package lock does not promise: a failover may forget a term, and then two
//     lead until the first one's renewal finds out. In a network partition a leader
//     on the old master's side leads for as long as it lasts, beside the one that
//     was elected on the other side, unless the server or the client is set up as
//     package lock says (min-replicas-to-write, rueidisson.Renewals). A paused process may start
//     another operation or two under a context derived from its term's. What must
//     never be done by two needs the token, and something that refuses older ones.
//   - That who is told is still the leader. An observer that acts upon a leader sends
//     its token along, or asks the leader.
//   - That each value is told: of several behind each other the last one is.
//   - That somebody always leads. Between two terms an observer may be told of none.
//   - That a failover keeps the value: the leader says it again each minute.
//
// # In Redis
//
//	name                               as of the fair lock, as are all of its keys
//	redisson_lock_token:{name}         string: the last fencing token; it stays
//	rueidisson_term:{name}             hash: owner, token, value and version of the term, after = token of the one
//	                                   before; it counts while the owner holds the lock; a day after the last word
//	rueidisson_term:{name}             channel: the token of a term of which there is news, 0 when it was resigned
//
// An election is a family of locks of its own: a lock under its name is
// [lock.ErrWrongKind] where that can be seen, see package lock. A FairLock of that name
// in another process keeps candidates waiting, and is no leader.
package election
