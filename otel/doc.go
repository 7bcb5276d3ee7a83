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
//	rueidisson.cache.evicted        {entry} counter        cache               entries that its writes and sweeps evicted because of a bound
//	rueidisson.cache.events         {event} counter        cache, event        events that subscribers got, and gaps
//	rueidisson.cache.sweep.duration s       histogram      error.type          sweeps of caches, except those that another process was doing already
//	rueidisson.cache.load.duration  s       histogram      error.type          calls of the loaders of maps in this process
//	rueidisson.near.hits            {entry} counter        cache               entries that near caches answered from a valid copy
//	rueidisson.near.misses          {entry} counter        cache               entries that they asked their map for
//	rueidisson.near.drops           {entry} counter        cache               single entries that have changed, kept or not
//	rueidisson.near.whole_drops     {drop}  counter        cache               times that all copies of a hash may have changed
//
//	rueidisson.store.duration       s       histogram      error.type          calls of the writers of maps in this process
//	rueidisson.store.changes       {change} counter        cache               changes that stores took
//	rueidisson.store.retries       {change} counter        cache               changes that stores were called with again
//	rueidisson.store.dead          {change} counter        cache               changes that were refused for good, and are dead letters
//	rueidisson.store.queued        {change} gauge          cache               changes that were queued when the writer was last called
//
//	rueidisson.queue.added             {message} counter   queue               messages that this client has added to reliable queues
//	rueidisson.queue.settled           {message} counter   queue, outcome      messages that it has settled
//	rueidisson.queue.handling.duration s         histogram queue, outcome      for how long it held them
//
//	rueidisson.queue.offered           {element} counter   kind, queue         elements offered to queues, streams and topics
//	rueidisson.queue.taken             {element} counter   kind, queue         elements taken; a redelivered one is counted again
//	rueidisson.queue.missed            {element} counter   kind, queue         missed messages of topics, when they were reported to loops
//	rueidisson.queue.waiting.duration  s         histogram kind, queue         for how long entries of streams and messages of reliable topics waited
//	rueidisson.queue.length            {element} gauge     queue               the result of the function given to [ObserveLength], called at each collection
//	rueidisson.queue.lag               {element} gauge     queue, group        the result of the function given to [ObserveLag], called at each collection
//
// Those of near caches are added about once a second while they are used, and when
// they are closed.
//
// cache is rueidisson.cache, the name of a cache, or of the map of a near cache, or a store:
// the first 100, and all others "_OTHER"; event is rueidisson.event: "created",
// "updated", "removed", "expired" or "gap".
//
// queue is rueidisson.queue, the name of a queue, a stream or a topic: the first 100, and all
// others "_OTHER"; group is rueidisson.group; outcome is rueidisson.outcome: "acked", "retried", "buried", "released", "lost", or
// "failed" where the server has not said which.
//
// kind, handed and script stand for rueidisson.kind, rueidisson.handed (whether
// the hold came from, or was given to, another goroutine of the client without a round
// trip) and rueidisson.script ("acquire"). These are the kinds:
//
//   - "lock", "fenced", "fair", "election", "read", "write" and "group";
//   - "order", by which the waiters of a semaphore queue over all processes;
//   - "permit" and "semaphore": acquired permits count as a hold, and those of "semaphore"
//     are never lost;
//   - "latch" and "barrier", which have waits only;
//   - "reliable queue": a message that the client holds counts as a hold.
//
// The kinds of offered, taken, missed and waiting.duration are those of
// [rueidisson.QueueObserver].
//
// limiter is rueidisson.limiter, the name of a rate limiter; outcome is
// rueidisson.outcome: "allowed", "refused" or "failed", where there is no
// decision and error.type says why; by is rueidisson.by: "server", "process" (it
// decides by what it knows, without I/O) or "fallback"; shadow is rueidisson.shadow:
// true if the decision has no effect. Limits that
// are decided together are counted separately. A wait or a reservation is
// allowed once its tokens are reserved.
//
// The names of other objects are not attributes of metrics. There may be one lock
// for each order or user, and every name would be a time series of its own,
// for ever. Spans have them. The first 100 rate limiters that are used
// have their name, and all others "_OTHER". The keys of limiters appear nowhere.
//
// error.type is absent if there was no error, and otherwise one of
//
//	outcome_unknown    it may have been done: the reply was lost, or its caller had left
//	deferred           it is not done yet, and the client continues to try
//	canceled           the caller's context was canceled
//	unreached          a wait has ended while the server was not reached
//	timeout            the caller's deadline, or its wait, was over
//	closed             the client was closed
//	slot_moving        a slot migration of the name took longer than a call waits
//	lost               the hold was lost
//	released           the hold was released before
//	broken             a party of the barrier's generation gave up or died
//	not_set            the number of permits of the semaphore is not set
//	not_acquired       the lock was busy: an answer, not a fault
//	not_replicated     too few replicas acknowledged
//	notice             a sequence continues: something was missed, or cannot be read
//	wrong_kind         the name is that of an object of another kind
//	token              a text that is no token, or one that must not be joined
//	stale              the fencing token is an old one
//	upgrade            a read hold cannot become a write hold
//	no_rate            the limiter has no rate
//	other_rate         another rate is stored than was expected
//	other_algorithm    the limiter's name is used by something else
//	exceeds_burst      more tokens than the limiter ever has
//	exceeds_wait       longer than the longest wait
//	exceeds_debt       more is owed than may be
//	empty              the queue had no element: an answer, not a fault
//	full               the bounded or reliable queue had no room
//	no_capacity        the bounded queue, or the ring buffer, has no capacity
//	duplicate          the reliable queue had such a message
//	attempt_timeout    an attempt at a message took too long
//	detached           the message is left to the process that has its token
//	other_terms        a reliable queue has other terms than a consumer was given
//	cancelled          the message was cancelled
//	not_found          there is no such message
//	taken              a consumer holds the message, or has held it
//	pending            the message is not done yet
//	buried             the message was buried
//	settled            the message was acknowledged or given back before
//	no_group           the stream has no such group
//	backlog            too many changes of a map wait for its store
//	interrupted        a subscription was interrupted for a while
//	disconnected       the connection of a subscription was lost
//	reconnected        the connection of a subscription is back
//	decode             what is stored cannot be decoded
//	not_permitted      a check found what the ACL does not permit
//	settings           a check found settings of the server that endanger what is held
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
package otel
