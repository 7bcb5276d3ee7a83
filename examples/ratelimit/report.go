package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// screen writes what the clients got, in lines: it is the same in a file.
type screen struct {
	out     io.Writer
	clients []*client
	shown   []answers // by client
}

type answers struct{ allowed, refused int64 }

func newScreen(out io.Writer, clients []*client) *screen {
	fmt.Fprintf(out, "%d servers, one limit: %d requests a second for each client, and a burst of %d.\n", servers, rate, burst)
	fmt.Fprintf(out, "█ allowed  ░ refused  │ the limit of a second\n\n")
	return &screen{out: out, clients: clients, shown: make([]answers, len(clients))}
}

// follow draws every second until over is closed, and then what is left.
func (s *screen) follow(start time.Time, d time.Duration, over <-chan struct{}) {
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			if since := time.Since(start); d-since > time.Second/2 { // the last is drawn when all is over
				s.draw(since)
			}
		case <-over:
			s.draw(time.Since(start))
			return
		}
	}
}

func (s *screen) draw(since time.Duration) {
	for i, c := range s.clients {
		total := answers{c.allowed.Load(), c.refused.Load()}
		now := answers{total.allowed - s.shown[i].allowed, total.refused - s.shown[i].refused}
		s.shown[i] = total
		fmt.Fprintf(s.out, "%5.1fs  %-7s %2d/s  allowed %3d  refused %3d  %s\n",
			since.Seconds(), c.name, c.pace, now.allowed, now.refused, bar(now))
	}
	fmt.Fprintln(s.out)
}

const barWidth = 48

// bar has a cell for each request, and a mark where the limit of a second is.
func bar(a answers) string {
	cells := []rune(strings.Repeat("█", int(min(a.allowed, barWidth))) + strings.Repeat("░", int(min(a.refused, barWidth))))
	for len(cells) < rate {
		cells = append(cells, ' ')
	}
	end := ""
	if len(cells) > barWidth {
		cells, end = cells[:barWidth], "…"
	}
	return string(cells[:rate]) + "│" + string(cells[rate:]) + end
}

func (s *screen) summary() {
	for _, c := range s.clients {
		most := burst + rate*c.elapsed.Seconds()
		fmt.Fprintf(s.out, "%-7s allowed %3d of %3d  limit %d + %d/s × %.2fs = %.1f  %s\n",
			c.name, c.allowed.Load(), c.allowed.Load()+c.refused.Load()+c.failed.Load(),
			burst, rate, c.elapsed.Seconds(), most, c.judged())
	}
}

func (c *client) judged() string {
	if c.audit.above {
		return "ABOVE THE LIMIT"
	}
	return "never above the limit"
}

// verdict says what went wrong and returns the exit code.
func verdict(clients []*client, stderr io.Writer) (code int) {
	for _, c := range clients {
		if n := c.failed.Load(); n > 0 {
			fmt.Fprintf(stderr, "ratelimit: %d requests of %s were not decided about, the last: %v\n", n, c.name, c.problem)
			code = exitFailed
		}
	}
	for _, c := range clients {
		if c.audit.above {
			fmt.Fprintf(stderr, "ratelimit: %s got more than the limit allows\n", c.name)
			code = exitWrong
		}
	}
	return code
}
