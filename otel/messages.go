package otel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"github.com/rueidisson/rueidisson"
)

const queueKey = attribute.Key("rueidisson.queue")

// queueSet is the attributes of one queue: of all its messages, and by what became of them.
type queueSet struct {
	plain   adding
	settled map[string]adding
	took    map[string]recording
}

func newQueueSet(queue string) *queueSet {
	name := queueKey.String(queue)
	s := &queueSet{plain: adding{attributes(name)}, settled: map[string]adding{}, took: map[string]recording{}}
	for _, outcome := range []string{"acked", "retried", "buried", "released", "lost", "failed"} {
		both := attributes(name, outcomeKey.String(outcome))
		s.settled[outcome], s.took[outcome] = adding{both}, recording{both}
	}
	return s
}

func (o *observer) MessagesAdded(ctx context.Context, queue string, messages int) {
	o.messagesAdded.Add(ctx, int64(messages), o.queues.capped(queue, newQueueSet).plain...)
}

func (o *observer) MessageSettled(ctx context.Context, s rueidisson.Settled) {
	sets := o.queues.capped(s.Queue, newQueueSet)
	o.messagesSettled.Add(ctx, 1, sets.settled[s.Outcome]...)
	o.handlingDuration.Record(ctx, s.Took.Seconds(), sets.took[s.Outcome]...)
}

var _ rueidisson.MessageObserver = (*observer)(nil)
