package queue

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Bounded queues and ring buffers have a number beside their elements.

// setting returns that number.
func (q *handle[T]) setting(ctx context.Context) (int64, error) {
	return send.Reading(q.h.e.Sender, ctx, func() (int64, error) {
		got, err := q.run(ctx, getCommand, q.object[1:])
		if err == nil && got.Nil {
			return 0, ErrNoCapacity
		}
		return send.Number(got, err)
	})
}

// once runs a script that the server knows when it comes again.
func (q *handle[T]) once(ctx context.Context, script *scripts.Script, args ...string) (send.Answer, error) {
	return q.send(ctx, script, q.request(), args...)
}

func (q *handle[T]) request() string { return keys.QueueDone(q.key, q.h.requests.ID()) }

func (q *handle[T]) send(ctx context.Context, script *scripts.Script, request string, args ...string) (send.Answer, error) {
	on := append(q.object[:len(q.object):len(q.object)], request)
	got, err := q.run(ctx, send.Identified{Script: script}, on, append([]string{memory}, args...)...)
	if err == nil && !got.Replayed && !send.OnCleanup(ctx) {
		q.h.requests.Forget(q.key, request) // there is no copy of it that may come late
	}
	return got, err
}
