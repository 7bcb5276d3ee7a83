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
// whoever made the providers flushes them.
//
// # Metrics
//
//	rueidisson.wait.duration     s          histogram      kind, error.type    waits that are over
//	rueidisson.waiting           {waiter}   up/down        kind                callers that wait now
//	rueidisson.acquired          {hold}     counter        kind, handed        holds, without re-entries
//	rueidisson.released          {hold}     counter        kind, handed        holds that were unlocked
//	rueidisson.lost              {hold}     counter        kind                holds that ended without their holder's doing
//	rueidisson.gave_up           {request}  counter        kind                requests, such as releases, that were given up before the server took them
//	rueidisson.refused           {call}     counter        kind                calls that were refused permits
//	rueidisson.unknown           {call}     counter        kind                calls about permits, latches and barriers whose outcome stayed unknown
//	rueidisson.renewal.duration  s          histogram      error.type          batches of renewals
//	rueidisson.renewal.holds     {hold}     histogram      error.type          holds in a batch
//	rueidisson.script.duration   s          histogram      script, error.type  script calls, with their re-sends
//	rueidisson.script.sends      {send}     counter        script              requests for scripts; above the number of calls: re-sends
//	rueidisson.limiter.decisions {decision} counter        limiter, outcome, by, shadow, error.type
//	                                                                           requests for tokens, also waits and reservations
//	rueidisson.limiter.together  {request}  histogram      limiter             requests that one call asked the server about, for each of them
//
//	rueidisson.cache.expired        {entry} counter        cache               entries that this client has swept
//	rueidisson.cache.evicted        {entry} counter        cache               entries that went by its writes and visits, as there were too many
//	rueidisson.cache.events         {event} counter        cache, event        events that came to who listens, and gaps
//	rueidisson.cache.sweep.duration s       histogram      error.type          visits to caches, but those that found another process there
//	rueidisson.cache.load.duration  s       histogram      error.type          calls of the loaders of maps in this process
//	rueidisson.near.hits            {entry} counter        cache               entries of which near caches had a copy that counts
//	rueidisson.near.misses          {entry} counter        cache               entries that they asked for
//	rueidisson.near.drops           {entry} counter        cache               single entries that have changed, kept or not
//	rueidisson.near.whole_drops     {drop}  counter        cache               times that all copies of a hash may have changed
//
//	rueidisson.store.duration       s       histogram      error.type          calls of the writers of maps in this process
//	rueidisson.store.changes       {change} counter        cache               changes that stores took
//	rueidisson.store.retries       {change} counter        cache               changes that stores were called with again
//	rueidisson.store.dead          {change} counter        cache               changes that were refused for good, and are put aside
//	rueidisson.store.queued        {change} gauge          cache               changes that waited when this process last wrote some behind
//
//	rueidisson.queue.added             {message} counter   queue               messages that this client has added to reliable queues
//	rueidisson.queue.settled           {message} counter   queue, outcome      messages that it was done with
//	rueidisson.queue.handling.duration s         histogram queue, outcome      for how long it had them
//
//	rueidisson.queue.offered           {element} counter   kind, queue         elements offered to queues, streams and topics
//	rueidisson.queue.taken             {element} counter   kind, queue         elements taken; what comes again is counted again
//	rueidisson.queue.missed            {element} counter   kind, queue         messages of topics that loops were told they have missed
//	rueidisson.queue.waiting.duration  s         histogram kind, queue         for how long entries of streams and messages of reliable topics waited
//	rueidisson.queue.length            {element} gauge     queue               what [ObserveLength] was given, asked for at each collection
//	rueidisson.queue.lag               {element} gauge     queue, group        what [ObserveLag] was given, likewise
//
// Those of near caches are added about once a second while they are used, and when
// they are closed.
//
// cache is rueidisson.cache, the name of a cache, or of the map of a near cache, or a store:
// the first 100, and all others "_OTHER"; event is rueidisson.event: "created",
// "updated", "removed", "expired" or "gap".
//
// queue is rueidisson.queue, the name of a queue, a stream or a topic, likewise the first 100; group is rueidisson.group;
// outcome is rueidisson.outcome: "acked", "retried", "buried", "released", "lost", or
// "failed" where the server has not said which.
//
// kind, handed and script stand for rueidisson.kind, rueidisson.handed (whether
// the hold came from, or went to, another goroutine of the client without a round
// trip) and rueidisson.script ("acquire"). Of kinds there are "lock", "fenced",
// "fair", "election", "read", "write" and "group"; "order", by which waiters of a
// semaphore queue over all processes; "permit" and "semaphore", of
// which what was acquired counts as a hold, and those of "semaphore" are never
// lost; "latch" and "barrier", which have waits only; "reliable queue", of which a
// message that the client has counts as a hold. Those of offered, taken, missed and
// waiting.duration are of [rueidisson.QueueObserver].
//
// limiter is rueidisson.limiter, the name of a rate limiter; outcome is
// rueidisson.outcome: "allowed", "refused" or "failed", where there is no
// decision and error.type says why; by is rueidisson.by: "server", "process" (by
// what that knows, without asking) or "fallback"; shadow is rueidisson.shadow:
// true where nothing is done because of the decision. Of several limits that
// are decided together each is counted by itself. A wait or a reservation is
// allowed once its tokens are reserved.
//
// The names of other objects are not attributes of metrics. There may be one lock
// for each order or user, and every name would be a time series of its own,
// for ever. Spans have them. Of rate limiters the first 100 that are heard of
// have their name, and all others "_OTHER". The keys of limiters are nowhere.
//
// error.type is absent where there was no error, and else one of
//
//	outcome_unknown    it may have been done: the reply was lost, or nobody waited for it
//	deferred           it is not done yet, and the client goes on trying
//	canceled           the caller's context was canceled
//	unreached          a wait has ended while the server was not reached
//	timeout            the caller's deadline, or its wait, was over
//	closed             the client was closed
//	slot_moving        the slot of the name moves to another server, for longer than a call waits
//	lost               the hold was lost
//	released           the hold was released before
//	broken             a party of the barrier's generation gave up or died
//	not_set            nobody has set how many permits the semaphore has
//	not_acquired       the lock was busy: an answer, not a fault
//	not_replicated     too few replicas acknowledged
//	notice             a sequence goes on: something was missed, or cannot be read
//	wrong_kind         the name is that of an object of another kind
//	token              a text that is no token, or one that must not be joined
//	stale              the fencing token is an old one
//	upgrade            a read hold cannot become a write hold
//	no_rate            nobody has set a rate for the limiter
//	other_rate         another rate is stored than was expected
//	other_algorithm    the limiter's name is used by something else
//	exceeds_burst      more tokens than the limiter ever has
//	exceeds_wait       longer than the longest wait
//	exceeds_debt       more is owed than may be
//	empty              the queue had no element: an answer, not a fault
//	full               the bounded or reliable queue had no room
//	no_capacity        nobody has set the capacity of the bounded queue, or of the ring buffer
//	duplicate          the reliable queue had such a message
//	attempt_timeout    an attempt at a message took too long
//	detached           the message is left to whoever has its token
//	other_terms        a reliable queue has other terms than a consumer was given
//	cancelled          somebody has taken the message out
//	not_found          there is no such message
//	taken              somebody has the message, or has had it
//	pending            the message is not done yet
//	buried             the message was buried
//	settled            the message was acknowledged or given back before
//	no_group           nobody has made the group of the stream
//	backlog            too many changes of a map wait for its store
//	interrupted        a subscription did not stand for a while
//	disconnected       the connection of a subscription was lost
//	reconnected        the connection of a subscription is back
//	decode             what is stored cannot be decoded
//	invalid_argument   an argument that cannot be used
//	_OTHER             anything else, such as an error of Redis
//
// the first of these that the error wraps.
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
// the operation was given. Without one there are none: what a client does by
// itself, such as renewals, would else litter the backend with traces of a
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
// A message belongs to a trace if whoever adds it says so in its header:
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
// The start of a span is reckoned backwards on the wall clock from when the
// observer was told, and may be off by what lies between.
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
// its own, but around handlers; what the providers do with a measurement is theirs.
package otel
