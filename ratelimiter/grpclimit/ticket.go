package grpclimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/admission"
)

// ticket is the decision about one call, or about one message of a stream.
type ticket struct {
	httplimit.Report
	l      *Limit
	ctx    context.Context // of the call; that of a call has its ticket
	method string
	taken  *admission.Ticket // nil: no limit was asked
}

type ticketKey struct{}

// admit returns the ticket of a call that goes on, or the status that ends it.
func (l *Limit) admit(ctx context.Context, method string) (*ticket, error) {
	t := &ticket{l: l, method: method}
	t.ctx = context.WithValue(ctx, ticketKey{}, t)
	err := t.ask(l.cost(t.ctx, method))
	if len(t.Limits) > 0 && !l.shadow {
		fields := make(metadata.MD)
		for name, values := range l.headers.Fields(t.Report) {
			fields[strings.ToLower(name)] = values
		}
		_ = grpc.SetHeader(t.ctx, fields) // a call that was not made by a transport has no header
	}
	return t, err
}

// ask gets a decision about the cost, and returns the status that ends the call.
func (t *ticket) ask(cost int64) error {
	if cost == 0 {
		return nil
	}
	t.Cost, t.Shadow = cost, t.l.shadow
	if cost < 0 {
		t.Outcome, t.Err = httplimit.NoCost, fmt.Errorf("%w: %d", httplimit.ErrNoCost, cost)
	} else if key, err := t.l.keyOf(t.ctx, t.method); err != nil {
		t.Outcome, t.Err = httplimit.NoKey, err
	} else {
		t.take(key)
	}
	if t.Outcome != httplimit.Gone || t.Shadow {
		t.observe(t.Report)
	}
	if t.Shadow {
		return nil
	}
	return t.verdict()
}

// keyOf returns the key of a call.
func (l *Limit) keyOf(ctx context.Context, method string) (string, error) {
	key, err := l.key.Of(request(ctx, method))
	if err != nil && l.sharedKey != "" && !errors.Is(err, ratelimiter.ErrInvalidArgument) {
		return l.sharedKey, nil
	}
	return key, err
}

// outcomes are the outcomes of a gate.
var outcomes = map[admission.Outcome]httplimit.Outcome{
	admission.Allowed: httplimit.Allowed, admission.Refused: httplimit.Refused,
	admission.Gone: httplimit.Gone, admission.Undecided: httplimit.Undecided,
}

// take asks the limits.
func (t *ticket) take(key string) {
	var rule admission.Rule
	if t.l.rule != nil {
		rule = func(one *ratelimiter.Limiter) (ratelimiter.Rate, bool) { return t.l.rule(t.ctx, t.method, one) }
	}
	t.Key, t.taken = key, t.l.gate.Ask(t.ctx, key, t.Cost, rule)
	t.Outcome, t.Never, t.Err = outcomes[t.taken.Outcome], t.taken.Never, t.taken.Err
	t.Limits = make([]httplimit.Limit, len(t.taken.Decisions))
	for i, d := range t.taken.Decisions {
		t.Limits[i] = httplimit.Limit{Name: t.l.names[i], Decision: d}
	}
}

// verdict returns the status that ends the call, nil if it goes on.
func (t *ticket) verdict() error {
	switch {
	case t.Outcome == httplimit.Allowed:
		return nil
	case t.Outcome == httplimit.Refused:
		return t.l.refused(t.Report)
	case t.Outcome == httplimit.NoCost:
		return status.Error(codes.InvalidArgument, "it cannot be told what this call costs")
	case errors.Is(t.Err, ratelimiter.ErrInvalidArgument):
		return misused()
	case t.Outcome == httplimit.NoKey:
		return status.Error(codes.InvalidArgument, "it cannot be told whose call this is")
	case t.Outcome == httplimit.Gone:
		return status.FromContextError(t.ctx.Err()).Err()
	}
	return t.l.failure(t.ctx, t.method, t.Err)
}

// serve runs the handler. It gives the cost of the call back if [RefundIf] says so.
func (t *ticket) serve(handler func() error) (err error) {
	if t.l.refundIf == nil || !t.taken.Refundable() {
		return handler()
	}
	err = status.Error(codes.Internal, "the handler panicked") // until it returns
	defer func() {
		if !t.l.refundIf(Response{Context: t.ctx, Method: t.method, Err: err}) {
			return
		}
		done := t.Report
		done.Outcome, done.Err = httplimit.Refunded, t.taken.GiveBack(t.ctx)
		t.observe(done)
	}()
	err = handler()
	return err
}

// observe tells the observers and the log.
func (t *ticket) observe(what httplimit.Report) {
	l := t.l
	for _, observe := range l.observers {
		observe(t.ctx, t.method, what)
	}
	if l.logger == nil || what.Err == nil {
		return
	}
	if o := what.Outcome; o == httplimit.NoKey || o == httplimit.NoCost || o == httplimit.Gone { // the client did it, and not the limiter
		return
	}
	key := "shared"
	if l.sharedKey == "" || what.Key != l.sharedKey {
		key = l.key.Redact(what.Key)
	}
	l.log.Warn(t.ctx, l.logger, l.limits[0].Name(), key, what.Outcome.String(), what.Err, slog.String("method", t.method))
}

// stream is a stream whose handler finds the ticket, and whose messages may count.
type stream struct {
	grpc.ServerStream
	t *ticket
}

func (s *stream) Context() context.Context { return s.t.ctx }

// RecvMsg asks the limits about each message that was received.
func (s *stream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if messages := s.t.l.messages; err == nil && messages != nil {
		one := &ticket{l: s.t.l, ctx: s.t.ctx, method: s.t.method}
		err = one.ask(messages(s.t.ctx, s.t.method, m))
	}
	return err
}
