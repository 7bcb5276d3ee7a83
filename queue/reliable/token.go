package reliable

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Token returns a text by which other processes can settle this delivery of the message, as SQS
// has receipt handles: see [Queue.Ack] and [Message.Detach]. It is no secret and no proof of
// a right. It is worthless after the delivery: a later one has another.
func (m *Message[T]) Token() string { return m.d.member }

// Detach leaves the message to the process that has its [Message.Token]. The message is renewed
// no more, and its lease lasts for at least d from now. Its contexts end with [ErrDetached]. If
// no process settles or extends it by then, it is redelivered, and the attempt counts. Cost and
// errors: as [Message.Extend].
func (m *Message[T]) Detach(ctx context.Context, d time.Duration) error {
	err := m.Extend(ctx, d)
	if err == nil && !m.d.end(ErrDetached, true) {
		err = m.failed("detach", m.d.ended())
	}
	if err == nil {
		m.d.grant.Finish(core.ErrReleased)
	}
	return err
}

// Ack acknowledges the delivery that has the token, whichever process took it. That process is
// told by its next renewal, with [ErrLost]. Errors: [ErrLost] if the message is not in that delivery any more;
// [ErrOutcomeUnknown] if the answer was lost: the message may be acknowledged; ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; those of Redis.
// Cost: one script call, shared with what else this process says of the queue.
func (q *Queue[T]) Ack(ctx context.Context, token string) error {
	return q.byToken(ctx, "acknowledge", token, &settle{nack: true, delay: done})
}

// Nack says that the attempt of the delivery that has the token has failed, as [Message.Nack] does.
//
// Cost and errors: as [Queue.Ack].
func (q *Queue[T]) Nack(ctx context.Context, token string, cause error, opts ...NackOption) error {
	s, err := nackOf(cause, opts)
	if err != nil {
		return q.failed("nack a message of", err)
	}
	return q.byToken(ctx, "nack", token, s)
}

// Release gives back the delivery that has the token, as [Message.Release] does.
//
// Cost and errors: as [Queue.Ack].
func (q *Queue[T]) Release(ctx context.Context, token string, opts ...ReleaseOption) error {
	s, err := releaseOf(opts)
	if err != nil {
		return q.failed("release a message of", err)
	}
	return q.byToken(ctx, "release", token, s)
}

// Extend makes the lease of the delivery that has the token last for at least d from now.
// Otherwise it is as [Queue.Ack].
func (q *Queue[T]) Extend(ctx context.Context, token string, d time.Duration) error {
	err := q.usable(ctx)
	if err == nil {
		err = core.CheckLease(d)
	}
	if err == nil {
		_, err = q.tokenOf(token)
	}
	if err == nil {
		err = q.extend(ctx, token, d)
	}
	return q.failed("extend a message of", err)
}

func (q *Queue[T]) extend(ctx context.Context, token string, d time.Duration) error {
	held, err := send.Writing(q.h.e.Sender, ctx, func() (bool, error) {
		got, err := q.h.e.Run(ctx, extendScript, []string{q.of.lease}, []string{token, decimal(core.Millis(d))})
		if err != nil {
			return false, err
		}
		all, err := got.AsIntSlice()
		return err == nil && len(all) == 1 && all[0] == 1, err
	})
	if err == nil && !held {
		err = ErrLost
	}
	return err
}

var tokens = regexp.MustCompile(`^[1-9][0-9]{0,18}:[1-9][0-9]{0,8}:[1-9][0-9]{0,18}:[1-9][0-9]{0,18}$`)

// tokenOf returns what is known of the delivery that has a token.
func (q *Queue[T]) tokenOf(token string) (*delivery, error) {
	if !tokens.MatchString(token) {
		return nil, fmt.Errorf("%w: %q is no token of a message", ErrInvalidArgument, token)
	}
	parts := strings.Split(token, ":")
	d := &delivery{member: token, taken: time.Now(), begun: true}
	d.id, _ = strconv.ParseInt(parts[0], 10, 64)
	d.attempt, _ = strconv.Atoi(parts[1])
	d.number, _ = strconv.ParseInt(parts[2], 10, 64)
	return d, nil
}

// byToken says s of a delivery to the server.
func (q *Queue[T]) byToken(ctx context.Context, op, token string, s *settle) error {
	err := q.usable(ctx)
	if err == nil {
		s.d, err = q.tokenOf(token)
	}
	if err != nil {
		return q.failed(op+" a message of", err)
	}
	c := q.consumer(q.policy)
	defer q.done(c)
	s.d.c = c
	got := answer{}
	err = ErrClosed
	q.h.e.During(func() { got, err = q.h.steps.Do(context.WithoutCancel(ctx), c.key, ask{settle: s}) })
	if err == nil {
		err = got.err
	}
	return q.failed(op+" message "+decimal(s.d.id)+" of", err)
}
