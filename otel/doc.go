// Package otel reports what a client of rueidisson does to OpenTelemetry, as
// metrics and spans:
//
//	o, err := otel.New()
//	if err != nil {
//		return err
//	}
//	c, err := rueidisson.Open(url, rueidisson.WithObserver(o))
//
// It uses the global providers, or those given with [WithMeterProvider] and
// [WithTracerProvider]. One observer may serve several clients, which are then
// counted together. It starts no goroutine, and there is nothing to close:
// flush the providers where you made them.
//
// # Metrics
//
// docs/metrics.md lists all metrics with their attributes, and the values of error.type.
//
// The names of objects are not attributes of metrics, except the first 100 rate limiters, caches, queues,
// streams and topics that are used. There may be one lock for each order or user, and every name would be a
// time series of its own, for ever. The keys of limiters appear nowhere.
//
// # Spans
//
//	rueidisson.wait              rueidisson.kind, rueidisson.name, error.type
//	rueidisson.script            rueidisson.script, rueidisson.sends, error.type
//	process NAME                 messaging.system, messaging.operation.name, messaging.operation.type,
//	                             messaging.destination.name, messaging.message.id,
//	                             rueidisson.attempt, rueidisson.outcome, error.type
//
// The first two are internal spans, made when what they describe is over, and begin
// where that began. They are children of the sampled span in the context that
// the operation was given. Without one there are none: background work of a client,
// such as renewals, would otherwise fill the backend with traces of a
// single span. The status is Error if there was an error other than
// not_acquired. A span carries its error's text, and with it, and with
// rueidisson.name, the name of the object.
//
// The third is a consumer span around each handler that a Serve of the reliable queue
// NAME calls, whose context has it. It is a child of the span that the header of the
// message carries, or else of that in the context of Serve, or a root: the sampler of
// the provider decides. It begins and ends with the handler, and is exported when the
// server has answered what became of the message, which is rueidisson.outcome, as in
// the metrics. The error is that of the handler, its panic, or why the message could not
// be settled. Messages from Receive, Poll and Consume have none.
//
// A message belongs to a trace if the program that adds it says so in its header:
//
//	carrier := propagation.MapCarrier{}
//	otel.GetTextMapPropagator().Inject(ctx, carrier)
//	var opts []reliable.AddOption
//	for key, value := range carrier {
//		opts = append(opts, reliable.WithHeader(key, value))
//	}
//	_, err = orders.Add(ctx, order, opts...)
//
// The propagator is the global one, or that of [WithPropagator].
//
// # What is not promised
//
// The start of a span is computed backwards on the wall clock from the call of the
// observer, and may be wrong by the time between.
//
// Spans that the Redis client makes for its commands are made under the same
// context, and so are siblings of rueidisson.script and not its children.
//
// A script call may outlive the call that caused it, for instance the undoing
// of an acquire that was cancelled; its span then ends after its parent's.
//
// The counters are not a ledger. Holds that Close leaves to their leases are
// never released or lost in them, those of a process that died neither, and a
// hold that was handed over is acquired and released once by each goroutine. A
// hold that is lost while it is unlocked may be counted as both.
//
// Where no span is made, and nothing failed, the observer allocates nothing of
// its own, except around handlers; what the providers do with a measurement is theirs.
//
// See docs/operations.md for alerts, and docs/metrics.md for all metrics.
package otel
