// Package election elects a leader among the processes of a fleet: one at a time, in the order of
// their campaigns, with a value that all processes can see, such as its address.
//
//	term, err := c.Election("scheduler").Campaign(ctx, "10.0.0.7:8080")
//	if err != nil {
//		return err
//	}
//	defer term.Resign(context.Background())
//	return schedule(term.Context(ctx)) // ends before a successor is elected
//
// A [Term] is a hold of a fair lock with a fencing token. Packages lock and fairlock describe what
// holds promise, package fence what a token is for. Redisson has no such object.
//
// # What is promised
//
//   - There is at most one leader at a time whose [Term.Context] is alive, while the server
//     keeps its data. The context ends before the server lets a successor be elected, also if
//     the network is silent or the process was paused.
//   - The token of each term is higher than those of all terms before, also after a failover
//     and a FLUSHALL. For a server's clock that is late see package fence.
//   - Candidates are elected in the order of the server's queue, over all processes. A
//     candidate that was killed is passed over at once, a silent one within 1.5 s. A leader
//     that was killed is succeeded when its lease ends.
//   - An observer gets the leaders in the order of their terms, and only processes that were
//     leaders. Leaders that it did not see are reported by [Leader.Gap]. It gets a leader as
//     soon as the leader's message comes, and within 5 s if there was no message, such as after
//     a failover. If the server cannot be reached, it gets [ErrDisconnected], and
//     [ErrReconnected] when it is reached again.
//   - A request that is sent twice, or arrives late, changes nothing: neither the leader nor
//     its value, which has versions.
//
// # What is not
//
//   - The limits of package lock apply. A failover may forget a term, and then there are two
//     leaders until the first one's next renewal. In a network partition a leader on the old
//     master's side leads for as long as the partition lasts, next to the one that was elected
//     on the other side, unless the server or the client is set up as package lock says
//     (min-replicas-to-write, rueidisson.Renewals). A paused process may start another
//     operation or two under a context derived from its term's. Work that two leaders must
//     never do at the same time needs the token, and a store that refuses older tokens.
//   - A leader that an observer got may have ended since. An observer that acts upon a leader
//     sends its token along, or asks the leader.
//   - An observer need not get each value: of several in quick succession it gets the last one.
//   - There may be no leader. Between two terms an observer may get none.
//   - A failover may lose the value: the leader writes it again each minute.
//
// # In Redis
//
//	name                               as for the fair lock, as are all of its keys
//	redisson_lock_token:{name}         string: the last fencing token; it stays
//	rueidisson_term:{name}             hash: owner, token, value and version of the term, after = token of the one
//	                                   before; it counts while the owner holds the lock; a day after the last word
//	rueidisson_term:{name}             channel: the token of a term with news, 0 when it was resigned
//
// An election is a family of locks of its own. The use of its name for a lock returns
// [lock.ErrWrongKind] where that is detected, see package lock. A FairLock of that name in another
// process keeps candidates waiting, and is no leader.
package election
