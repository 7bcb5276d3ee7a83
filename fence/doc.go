// Package fence protects data from late writers: it has the tokens of a fenced lock, and carries
// them to the store that is written to.
//
// A lock makes it unlikely that two holders work at the same time, and cannot make it impossible. A
// process that was paused past its lease may start one more write when it resumes, and a failover
// may forget a hold. So a fenced lock gives each hold a [Token], whose number is higher than the
// number of every hold before. The store refuses a number that is lower than the highest it has
// seen. Then the late write fails, whatever the state of the lock was.
//
//	err := lock.Do(ctx, c.FencedLock("order:42"), func(ctx context.Context) error {
//		token, ok := fence.FromContext(ctx)
//		if !ok {
//			return errors.New("nothing to fence with")
//		}
//		q := fence.SQL(token, fence.Question)
//		res, err := db.ExecContext(ctx, "UPDATE orders SET total = ?, "+q.Set+" WHERE id = 42 AND "+q.Where, total, q.Arg, q.Arg)
//		...  // no row: stale, or no such order
//	})
//
// Three things check tokens. A database does by the condition of [SQL], or of [SQLWithOwner], which
// also refuses an equal token of another owner. An HTTP service does by the middleware of package
// fencehttp. A value in Redis is checked by lock.Guard.
//
// # What is promised, and what is not
//
// Tokens of one lock rise from hold to hold; numbers may be skipped, and are never used twice. They
// also rise over a failover and a FLUSHALL, because a new token is at least the time of the server
// in microseconds. While the counter exists, a clock that is set back changes nothing. If the
// counter is lost, the order is kept while the clock of the new master is not earlier than the last
// token.
//
// If it is earlier, a client raises the counter above the highest number that it has seen of the
// lock, by holding, joining or observing it. A client remembers the numbers of 10,000 locks. Newer
// holders have lower numbers only until such a client acquires the lock, or the clock has caught
// up. In that time their writes are refused, and an older holder's are not. A lock that issues a
// million tokens a second for long runs ahead of the clock, and a failover is then such a case.
//
// A token is compared only with tokens of its own lock. Numbers of different locks have no order,
// and [Token.Compare] returns an error for them.
//
// A token is no secret and no permission: a client that can reach the guarded data can make one up.
// It protects from accidents.
package fence
