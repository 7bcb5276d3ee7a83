package keys

// FairDeadlines returns until when each of those in the queue of a fair lock is
// waited for.
func FairDeadlines(name string) string { return Prefix("redisson_lock_timeout", name) }

// FairTold returns the channel on which one waiter of Redisson's is told that it is
// its turn; ours listen there only while such a one is ahead.
func FairTold(name, owner string) string { return LockChannel(name) + ":" + owner }

// FairTurns names the channel on which the processes of this library are told whose turn it is:
// each listens at its own, which the id of its client is added to.
func FairTurns(name string) string { return Prefix("rueidisson_fair", name) }

// FairAlive names the key that says which of them are alive.
func FairAlive(name string) string { return Prefix("rueidisson_fair_alive", name) }

// FairIdle returns a waiter of Redisson's that was told in vain.
func FairIdle(name string) string { return Prefix("rueidisson_fair_idle", name) }

// LockToken returns the last fencing token of a lock, for either library.
func LockToken(name string) string { return Prefix("redisson_lock_token", name) }

// Term names the key that says what the leader of an election says of itself, and the channel on which
// it tells that there is news of it.
func Term(name string) string { return Prefix("rueidisson_term", name) }
