package peer

import "context"

// FencedLock is an RFencedLock of Redisson as one Java thread uses it.
type FencedLock struct{ Lock }

// FencedLock returns the fenced lock of that name, used by the thread.
func (p *Peer) FencedLock(thread, name string) FencedLock {
	return FencedLock{p.LockOf("fencedlock", thread, name)}
}

// LockAndGetToken waits for the lock, leaves it to the watchdog, and returns the token.
func (l FencedLock) LockAndGetToken(ctx context.Context) (int64, error) {
	return l.number(ctx, "lockAndGetToken")
}

// Token returns the last token that was given.
func (l FencedLock) Token(ctx context.Context) (int64, error) { return l.number(ctx, "getToken") }
