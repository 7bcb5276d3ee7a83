package limits

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

const limitSetLong = `set stores the rate of NAME for everybody, whatever was stored. The rate that is
stored already changes nothing, and a paused limiter stays paused.
Programs that use it follow within a second. What was taken stays taken, up to the
new burst; --reset makes all buckets full.

A rate is a number of tokens and the time in which they come: 5/s, 100/m, 1000/d,
1/3s, 10/1h30m. --burst is how many may be taken at once, by default that number.
0/s grants nothing, and "unlimited" grants all.
The output says what this admits: a bucket that is full may be emptied at once and
goes on at the rate, so that 1000/d with a burst of 1000 admits 2,000 within a
day. Each key has that for itself.

--ttl D has the rate forgotten D after it was last used, for names without number,
such as tenants. A rate that is stored already keeps its time without it.

--per-client has each process count for itself, without asking the server: N
processes together get N times the rate, and one that restarts starts full. With
--redisson the server counts for each client.

With --redisson what was taken within the last D of the new rate stays taken, and
--reset forgets it. --keep-alive D has the limiter forgotten that long after its
last use.

With --json: {"name", "set" (false: --if-absent found one), "rate": {"text", "n",
"per_ns", "burst", "per_client"}, "keep_alive_ms" (if there is one), "admits":
[{"window", "window_ns", "at_most"}] (empty: all)}, where rate is the one that is
stored now.
The exit code is 0 whether or not --if-absent found one.`

// rateSetting is what limit set was asked to do.
type rateSetting struct {
	*limitTool
	rate      string
	burst     int64
	keepAlive time.Duration
	ttl       time.Duration
	perClient bool
	reset     bool
	ifAbsent  bool
}

func (t *limitTool) limitSetCommand() *cobra.Command {
	s := &rateSetting{limitTool: t}
	cmd := &cobra.Command{
		Use:   "set NAME --rate N/D",
		Short: "Store the rate of a limiter",
		Long:  limitSetLong,
		Example: `  rueidisson limit set mails --rate 5/s --burst 10
  rueidisson limit set imports --rate 1/3s --burst 1 --if-absent
  rueidisson limit set api --rate 1000/d --reset --json
  rueidisson limit set tenant:7 --rate 5/s --ttl 720h
  rueidisson limit set shared-with-java --redisson --rate 100/m`,
		Args: usage.OneName,
		RunE: s.checkAndSet,
	}
	f := cmd.Flags()
	f.StringVar(&s.rate, "rate", "", "`N/D` tokens, as in 5/s, 100/m or 1/3s")
	f.Int64Var(&s.burst, "burst", 0, "at most `N` at once (default: the N of --rate)")
	f.DurationVar(&s.keepAlive, "keep-alive", 0, "with --redisson: forget it `D` after its last use (default: never)")
	f.DurationVar(&s.ttl, "ttl", 0, "forget it `D` after its last use; 0: never (default: as it is stored)")
	f.BoolVar(&s.perClient, "per-client", false, "each process counts for itself")
	f.BoolVar(&s.reset, "reset", false, "make all buckets full")
	f.BoolVar(&s.ifAbsent, "if-absent", false, "leave a rate that is stored as it is")
	return cmd
}

func (s *rateSetting) checkAndSet(cmd *cobra.Command, args []string) error {
	switch {
	case s.rate == "":
		return exit.Usagef("--rate is needed, as in --rate 5/s")
	case s.reset && s.ifAbsent:
		return exit.Usagef("--reset and --if-absent exclude each other")
	case s.redisson && cmd.Flags().Changed("burst"):
		return exit.Usagef("a limiter of Redisson's has no burst in addition to the N of its rate: --redisson and --burst exclude each other")
	case !s.redisson && cmd.Flags().Changed("keep-alive"):
		return exit.Usagef("--keep-alive goes with --redisson: here it is --ttl")
	case s.redisson && cmd.Flags().Changed("ttl"):
		return exit.Usagef("with --redisson --ttl is --keep-alive")
	}
	n, per, _ := strings.Cut(s.rate, "/")
	if per != "" {
		s.rate = n + "/" + usage.WithUnit(per)
	}
	r, err := ratelimiter.ParseRate(s.rate)
	if err != nil {
		return exit.Failed(err)
	}
	if cmd.Flags().Changed("burst") {
		r = r.WithBurst(s.burst)
	}
	if s.perClient {
		r = r.PerClient()
	}
	wanted := setting{Rate: r, log: s.redisson, keepAlive: cmp.Or(s.keepAlive, s.ttl), given: cmd.Flags().Changed("ttl")}
	return s.withLimiter(args[0], func(l limiter) error { return s.store(cmd.Context(), l, wanted) })
}

func (s *rateSetting) store(ctx context.Context, l limiter, r setting) error {
	set := true
	var err error
	if s.ifAbsent {
		r, set, err = l.trySet(ctx, r)
	} else {
		r, err = l.set(ctx, r, s.reset)
	}
	if err != nil {
		return err
	}
	s.tellRate(ruleTold{Name: l.Name(), Set: &set}, r)
	return nil
}

// ruleTold is what limit set and limit show tell.
type ruleTold struct {
	Name        string      `json:"name"`
	Set         *bool       `json:"set,omitempty"`
	Paused      bool        `json:"paused,omitempty"`
	Rate        values.Rate `json:"rate"`
	KeepAliveMS int64       `json:"keep_alive_ms,omitempty"`
	Admits      []admitted  `json:"admits"`
}

// tellRate says what is stored, and whether it was set just now or is paused, if
// that is the question.
func (t *limitTool) tellRate(told ruleTold, r setting) {
	if t.JSON {
		told.Rate, told.KeepAliveMS, told.Admits = values.NewRate(r.String(), r.Rate), millis(r.keepAlive), admits(r)
		t.SayJSON(t.Stdout, told)
		return
	}
	more := ""
	switch {
	case told.Set != nil && !*told.Set:
		more = " was stored already"
	case told.Paused:
		more = ", paused"
	}
	fmt.Fprintf(t.Stdout, "%s: %v%s\n%s\n%s", told.Name, r, more, admitsLine(r), r.kept())
}

const limitShowLong = `show tells the rate that is stored for NAME, what it admits, and whether it is
paused. What is left of a bucket is shown by "limit peek".

With --json: as that of "limit set", with "paused" (if it is) in place of "set".`

func (t *limitTool) limitShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show the rate of a limiter",
		Long:  limitShowLong,
		Example: `  rueidisson limit show mails
  rueidisson limit show mails --json`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.withLimiter(args[0], func(l limiter) error { return t.limitShow(cmd.Context(), l) })
		},
	}
}

func (t *limitTool) limitShow(ctx context.Context, l limiter) error {
	r, err := l.rate(ctx)
	if err != nil {
		return err
	}
	paused, err := l.paused(ctx)
	if err != nil {
		return err
	}
	t.tellRate(ruleTold{Name: l.Name(), Paused: paused}, r)
	return nil
}
