package send

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

// Transact sends a transaction as [Sender.Run] sends a command, and returns the answers to its steps. Its keys are in one slot.
// The server refuses it as a whole: for want of memory, say, or while its keys are on both sides of a slot that moves. On a
// batch it is one call.
//
// An error wraps ErrOutcomeUnknown if the write of the transaction may have been done. That is so also if the user may not
// send MULTI, see [scripts.ApartError].
func (s *Sender) Transact(ctx context.Context, t *scripts.Transaction) ([]rueidis.RedisMessage, error) {
	return s.transact(ctx, t, 0)
}

// TransactBriefly is Transact as [Sender.RunBriefly] is Run.
func (s *Sender) TransactBriefly(ctx context.Context, t *scripts.Transaction) ([]rueidis.RedisMessage, error) {
	return s.transact(ctx, t, fullTries)
}

func (s *Sender) transact(ctx context.Context, t *scripts.Transaction, full int) ([]rueidis.RedisMessage, error) {
	keys, args := t.Words()
	got, err := s.run(ctx, t, keys, args, full, nil)
	if err != nil {
		return nil, err
	}
	return got.ToArray()
}
