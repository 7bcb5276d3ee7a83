package rwlock

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/lock"
)

// The kinds of holds, as contexts carry them and observers get them. They share one queue of local
// waiters, whose key has the family's kind.
const (
	family    = "rwlock"
	readKind  = "read"
	writeKind = "write"
)

// server is the part of a read-write lock on the server that both sides share.
type server struct {
	e       *locking.Engine
	name    string // mapped
	channel string
	gone    string // key of the tombstones
	claims  string
	waiting string // key of the clients of waiting readers
	turn    string
}

// Key returns the key of the lock, for both sides.
func (s *server) Key() core.Key { return core.Key{Kind: family, Name: s.name} }

// Channel returns the channel on which releases are published.
func (s *server) Channel() string { return s.channel }

func (s *server) client() string { return s.e.ClientID }

// mark returns the own key of a reader.
func (s *server) mark(owner string) string { return keys.ReaderMark(s.name, owner, 1) }

// acquire sends the acquire of a side. It undoes an acquire that too few replicas confirmed.
func (s *server) acquire(ctx context.Context, side lease.Protocol, owner string, script *scripts.Script, on, args []string) (locking.Tried, error) {
	if s.e.ReplicaAcks == 0 {
		answer, err := s.e.Run(ctx, script, on, args)
		if err != nil {
			return locking.Tried{}, err
		}
		return tried(answer)
	}
	answer, acks, err := s.e.RunAcked(ctx, script, on, args)
	if err != nil {
		return locking.Tried{}, err
	}
	t, err := tried(answer)
	if err != nil || !t.Free || acks >= int64(s.e.ReplicaAcks) {
		return t, err
	}
	err = fmt.Errorf("%w: %d of %d within %v", lock.ErrNotReplicated, acks, s.e.ReplicaAcks, s.e.AckTimeout)
	if _, undo := side.GiveBack(context.WithoutCancel(ctx), owner); undo != nil {
		err = fmt.Errorf("%w: %w: undoing the acquire: %w", lock.ErrOutcomeUnknown, err, undo)
	}
	return locking.Tried{}, err
}

// writerWaits is the answer to a reader that acquired the lock before a waiting writer.
const writerWaits = -3

func tried(answer send.Answer) (locking.Tried, error) {
	t := locking.Tried{Free: answer.Nil, Started: answer.Started, Replayed: answer.Replayed}
	if t.Free {
		return t, nil
	}
	if rest, err := answer.AsIntSlice(); err == nil && len(rest) == 1 {
		t.Left, t.Hint = time.Duration(rest[0])*time.Millisecond, 1
		return t, nil
	}
	left, err := answer.AsInt64()
	if left == writerWaits {
		t.Free, t.Hint = true, 1
		return t, err
	}
	t.Left = time.Duration(left) * time.Millisecond
	return t, err
}

func released(answer send.Answer, err error) (lease.Released, error) {
	if err != nil {
		return lease.Released{}, err
	}
	reached, err := answer.AsInt64()
	return lease.Released{Held: reached >= 0, Reached: int(max(0, reached)), Replayed: answer.Replayed}, err
}
