package otel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"github.com/rueidisson/rueidisson"
)

const (
	limiterKey = attribute.Key("rueidisson.limiter")
	outcomeKey = attribute.Key("rueidisson.outcome")
	byKey      = attribute.Key("rueidisson.by")
	shadowKey  = attribute.Key("rueidisson.shadow")
)

// maxLimiters is how many limiters have attributes of their own: some programs
// have one for each customer, and each would be several time series for ever.
const maxLimiters = 100

// others stands for all limiters beyond that.
const others = "_OTHER"

// decisionSets are the attributes of one limiter's decisions.
type decisionSets struct {
	limiter attribute.KeyValue
	plain   recording
	made    [2][3][2]adding // refused or allowed, by whom, in earnest or not
}

var (
	outcomeNames = [...]string{"refused", "allowed"}
	byNames      = [...]string{"server", "process", "fallback"}
)

func newDecisionSets(limiter string) *decisionSets {
	s := &decisionSets{limiter: limiterKey.String(limiter)}
	s.plain = recording{attributes(s.limiter)}
	for outcome, o := range outcomeNames {
		for by, b := range byNames {
			for shadow := range 2 {
				s.made[outcome][by][shadow] = adding{attributes(s.limiter, outcomeKey.String(o), byKey.String(b), shadowKey.Bool(shadow == 1))}
			}
		}
	}
	return s
}

func (o *observer) Decided(ctx context.Context, d rueidisson.Decision) {
	s := o.limiters.capped(d.Limiter, newDecisionSets)
	made := s.made[index(d.Allowed)][by(d)][index(d.Shadow)]
	if d.Err != nil { // failures are rare enough for their attributes to be put together each time
		made = adding{attributes(s.limiter, outcomeKey.String("failed"), shadowKey.Bool(d.Shadow), errorTypeKey.String(typeOf(d.Err)))}
	}
	o.decisions.Add(ctx, 1, made...)
	if d.Together > 0 {
		o.together.Record(ctx, int64(d.Together), s.plain...)
	}
}

var _ rueidisson.DecisionObserver = (*observer)(nil)

func by(d rueidisson.Decision) int {
	switch {
	case d.Fallback:
		return 2
	case d.Together == 0:
		return 1
	}
	return 0
}

func index(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
