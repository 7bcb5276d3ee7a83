package otel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"github.com/rueidisson/rueidisson"
)

const queueKey = attribute.Key("rueidisson.queue")

// queueSets are the attributes of the first queues that were heard of, as many as
// there are limiters with some.
type queueSets struct{ memo memo[queueSet] }

func (s *queueSets) of(queue string) *queueSet {
	if made := s.memo.made.Load(); made != nil && (*made)[queue] == nil && len(*made) >= maxLimiters {
		queue = others
	}
	return s.memo.of(queue, newQueueSet)
}

// queueSet is those of one queue: of all its messages, and by what became of them.
type queueSet struct {
	plain   adding
	settled map[string]adding
	took    map[string]recording
}

func newQueueSet(queue string) *queueSet {
	name := queueKey.String(queue)
	s := &queueSet{plain: adding{set(name)}, settled: map[string]adding{}, took: map[string]recording{}}
	for _, outcome := range []string{"acked", "retried", "buried", "released", "lost", "failed"} {
		both := set(name, outcomeKey.String(outcome))
		s.settled[outcome], s.took[outcome] = adding{both}, recording{both}
	}
	return s
}

func (o *observer) MessagesAdded(ctx context.Context, queue string, messages int) {
	o.messagesAdded.Add(ctx, int64(messages), o.queues.of(queue).plain...)
}

func (o *observer) MessageSettled(ctx context.Context, s rueidisson.Settled) {
	sets := o.queues.of(s.Queue)
	o.messagesSettled.Add(ctx, 1, sets.settled[s.Outcome]...)
	o.handlingDuration.Record(ctx, s.Took.Seconds(), sets.took[s.Outcome]...)
}

var _ rueidisson.MessageObserver = (*observer)(nil)
