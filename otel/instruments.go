package otel

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// Boundaries of the histograms. OpenTelemetry's default ones are made for
// milliseconds; a script takes a fraction of one, and a wait may take minutes.
var (
	seconds = metric.WithExplicitBucketBoundaries(
		.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60)
	batches = metric.WithExplicitBucketBoundaries(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
)

type instruments struct {
	waitDuration, renewalDuration, scriptDuration metric.Float64Histogram
	renewalHolds, together, combined              metric.Int64Histogram
	waiting                                       metric.Int64UpDownCounter
	acquired, released, lost, scriptSends         metric.Int64Counter
	decisions, gaveUp, refused, unknown           metric.Int64Counter
	expired, evicted, cacheEvents, clockAhead     metric.Int64Counter
	nearHits, nearMisses                          metric.Int64Counter
	nearDrops, nearWholeDrops                     metric.Int64Counter
	sweepDuration, loadDuration, storeDuration    metric.Float64Histogram
	stored, storedAgain, storedDead               metric.Int64Counter
	storeQueued                                   metric.Int64Gauge
	messagesAdded, messagesSettled                metric.Int64Counter
	offered, taken, missed                        metric.Int64Counter
	waitedFor                                     metric.Float64Histogram
	handlingDuration                              metric.Float64Histogram
}

func newInstruments(m metric.Meter) (instruments, error) {
	b := builder{Meter: m}
	i := instruments{
		waitDuration:     b.duration("rueidisson.wait.duration", "Duration of waits for an object that was held."),
		renewalDuration:  b.duration("rueidisson.renewal.duration", "Duration of batches of renewals."),
		scriptDuration:   b.duration("rueidisson.script.duration", "Duration of script calls, with their re-sends."),
		renewalHolds:     b.batch("rueidisson.renewal.holds", "{hold}", "Number of holds in a batch of renewals."),
		together:         b.batch("rueidisson.limiter.together", "{request}", "Number of requests that went out with a request for tokens, and itself."),
		combined:         b.batch("rueidisson.combined.calls", "{call}", "Number of calls that went to the server in one exchange."),
		waiting:          b.level("rueidisson.waiting", "{waiter}", "Number of callers that are waiting."),
		acquired:         b.counter("rueidisson.acquired", "{hold}", "Number of holds that were acquired, without re-entries."),
		released:         b.counter("rueidisson.released", "{hold}", "Number of holds that were unlocked."),
		lost:             b.counter("rueidisson.lost", "{hold}", "Number of holds that ended without their holder's doing."),
		gaveUp:           b.counter("rueidisson.gave_up", "{request}", "Number of requests, such as releases, that were given up before the server took them."),
		refused:          b.counter("rueidisson.refused", "{call}", "Number of calls that were refused permits."),
		unknown:          b.counter("rueidisson.unknown", "{call}", "Number of calls whose outcome stayed unknown."),
		decisions:        b.counter("rueidisson.limiter.decisions", "{decision}", "Number of requests for tokens that rate limiters decided about."),
		expired:          b.counter("rueidisson.cache.expired", "{entry}", "Number of entries of caches that have gone since their time was over."),
		evicted:          b.counter("rueidisson.cache.evicted", "{entry}", "Number of entries of caches that have gone since there were too many."),
		clockAhead:       b.counter("rueidisson.cache.clock_ahead", "{sweep}", "Number of visits that swept nothing since the clock of the process is ahead of the server's."),
		cacheEvents:      b.counter("rueidisson.cache.events", "{event}", "Number of events of caches that came to those who listen."),
		sweepDuration:    b.duration("rueidisson.cache.sweep.duration", "Duration of visits to caches whose entries may have expired."),
		loadDuration:     b.duration("rueidisson.cache.load.duration", "Duration of calls of the loaders of maps."),
		nearHits:         b.counter("rueidisson.near.hits", "{entry}", "Number of entries that near caches answered by a copy."),
		nearMisses:       b.counter("rueidisson.near.misses", "{entry}", "Number of entries that near caches asked for."),
		nearDrops:        b.counter("rueidisson.near.drops", "{entry}", "Number of single entries that near caches were told to have changed."),
		nearWholeDrops:   b.counter("rueidisson.near.whole_drops", "{drop}", "Number of times that near caches dropped all copies of a hash."),
		storeDuration:    b.duration("rueidisson.store.duration", "Duration of calls of the writers of maps."),
		stored:           b.counter("rueidisson.store.changes", "{change}", "Number of changes of maps that their stores took."),
		storedAgain:      b.counter("rueidisson.store.retries", "{change}", "Number of changes of maps that their stores were called with again."),
		storedDead:       b.counter("rueidisson.store.dead", "{change}", "Number of changes of maps that their stores refused for good."),
		storeQueued:      b.gauge("rueidisson.store.queued", "{change}", "Number of changes that waited for a store when its writer was last called."),
		messagesAdded:    b.counter("rueidisson.queue.added", "{message}", "Number of messages that were added to reliable queues."),
		messagesSettled:  b.counter("rueidisson.queue.settled", "{message}", "Number of messages of reliable queues that consumers were done with."),
		handlingDuration: b.duration("rueidisson.queue.handling.duration", "Duration for which consumers had messages of reliable queues."),
		offered:          b.counter("rueidisson.queue.offered", "{element}", "Number of elements that were offered to queues, streams and topics."),
		taken:            b.counter("rueidisson.queue.taken", "{element}", "Number of elements that were taken from queues, streams and topics."),
		missed:           b.counter("rueidisson.queue.missed", "{element}", "Number of messages of topics that loops were told they have missed."),
		waitedFor:        b.duration("rueidisson.queue.waiting.duration", "Duration for which entries and messages waited until they were taken."),
		scriptSends:      b.counter("rueidisson.script.sends", "{send}", "Number of times that scripts were sent."),
	}
	if b.err != nil {
		return i, fmt.Errorf("rueidisson metrics: %w", b.err)
	}
	return i, nil
}

// builder makes instruments and collects their errors.
type builder struct {
	metric.Meter
	err error
}

func (b *builder) duration(name, description string) metric.Float64Histogram {
	h, err := b.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description), seconds)
	b.err = errors.Join(b.err, err)
	return h
}

func (b *builder) batch(name, unit, description string) metric.Int64Histogram {
	h, err := b.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(description), batches)
	b.err = errors.Join(b.err, err)
	return h
}

func (b *builder) level(name, unit, description string) metric.Int64UpDownCounter {
	c, err := b.Int64UpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
	b.err = errors.Join(b.err, err)
	return c
}

func (b *builder) gauge(name, unit, description string) metric.Int64Gauge {
	g, err := b.Int64Gauge(name, metric.WithUnit(unit), metric.WithDescription(description))
	b.err = errors.Join(b.err, err)
	return g
}

func (b *builder) counter(name, unit, description string) metric.Int64Counter {
	c, err := b.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
	b.err = errors.Join(b.err, err)
	return c
}
