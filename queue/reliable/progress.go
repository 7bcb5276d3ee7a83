package reliable

import (
	"context"
	"encoding/json"
	"fmt"
)

// longestProgress is how much of a progress the queue keeps.
const longestProgress = 4096

// SetProgress says how far the work on the message is, for [Queue.Find] and [Queue.Messages]. The progress is
// written as JSON, of at most 4 kB. It stays with the message also for its next attempts, until another is set, and goes
// with it. Only the consumer that has the message can set it.
//
// Cost: one script call. Errors: [ErrLost] if the message is not in this delivery any more, and the other
// errors of [Message.Err], before anything is sent; ctx's error and cause; [ErrOption] for what is no JSON or too
// long; [ErrUnknown] if the reply was lost; [ErrClosed]; those of Redis.
func (m *Message[T]) SetProgress(ctx context.Context, progress any) error {
	err := m.d.Err()
	if err == nil {
		err = m.q.progress(ctx, m.d.member, progress)
	}
	return m.failed("set the progress of", err)
}

// SetProgress is [Message.SetProgress] of the delivery that has the token, whichever process took it.
func (q *Queue[T]) SetProgress(ctx context.Context, token string, progress any) error {
	err := q.usable(ctx)
	if err == nil {
		_, err = q.tokenOf(token)
	}
	if err == nil {
		err = q.progress(ctx, token, progress)
	}
	return q.failed("set the progress of a message of", err)
}

func (q *Queue[T]) progress(ctx context.Context, member string, progress any) error {
	text, err := json.Marshal(progress)
	switch {
	case err != nil:
		return fmt.Errorf("%w: progress: %w", ErrOption, err)
	case len(text) > longestProgress:
		return fmt.Errorf("%w: a progress of %d bytes is more than %d", ErrOption, len(text), longestProgress)
	}
	n, err := q.request(ctx, progressScript, member, string(text))
	if err == nil && n == 0 {
		err = ErrLost
	}
	return err
}
