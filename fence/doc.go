// Package fence is what keeps a late writer out: the tokens of a fenced lock,
// and how they travel to where something is written.
//
// A lock makes it unlikely that two work at the same time, and cannot make it
// impossible: a process that was paused past its lease may start one more write
// when it goes on, and a failover may forget a hold. So a fenced lock gives each
// hold a [Token], whose number is higher than that of every hold before, and
// what is written to refuses a number that is lower than the highest it has
// seen. Then the late write fails, whatever the lock believed.
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
// Three things check tokens: a database by the condition of [SQL], or of
// [SQLWithOwner], which refuses an equal token of another owner, too; an HTTP
// service behind the middleware of package fencehttp; and a value in Redis by
// lock.Guard.
//
// # What is promised, and what is not
//
// Tokens of one lock rise from hold to hold; numbers may be skipped, and are
// never used twice. They rise over a failover and a FLUSHALL as well, since a new
// one is at least the time of the server in microseconds. Where the counter stands,
// a clock that goes back changes nothing. Where the counter is lost, order holds
// while the clock of the new master is not behind the last token.
//
// If it is, a client raises the counter above the highest number that it has seen of
// the lock, by holding, joining or observing it. A client remembers that of 10,000
// locks. Only until such a client takes the lock, and until the clock has caught up,
// newer holders have lower numbers: their writes are refused, and an older holder's
// are not. A lock that hands out a million tokens a second for long runs ahead of the
// clock, and a failover is then such a case.
//
// A token is compared with those of its own lock only: numbers of different locks
// say nothing of each other, and [Token.Compare] says so.
//
// A token is no secret and no permission: whoever reaches what is guarded can
// make one up. It protects from accidents.
package fence
