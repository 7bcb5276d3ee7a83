package scripts

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Replay says what a second run of the same call does.
type Replay int

const (
	// Unsafe scripts are sent once; a lost reply leaves the outcome unknown, and may lose what was taken.
	Unsafe Replay = iota
	// Once is Unsafe of a short script that takes no data: a lost reply costs no more than not knowing whether it ran. What a
	// limiter's decision took refills.
	Once
	// Safe scripts may be sent again after a lost reply.
	Safe
	// Reads are Safe, and change nothing: the outcome of one is never unknown.
	Reads
)

// Header is what the comment at the top of a script promises.
type Header struct {
	Keys   []string // KEYS[1], KEYS[2] … as written; the last may be KEYS[i…]
	Args   []string // likewise for ARGV
	Replay Replay
}

var (
	item   = regexp.MustCompile(`^--\s+(KEYS|ARGV)\[([^\]]+)\]\s+\S`)
	replay = regexp.MustCompile(`^--\s+Replay\s+(reads|safe|once|unsafe):\s+\S`)
)

// ParseHeader reads the header: a line for each key and argument, what the
// script returns, and whether it may be replayed. A script that takes no
// arguments has no ARGV line; Returns and Replay are never left out.
func ParseHeader(body string) (Header, error) {
	var h Header
	var returns, replays bool
	header, _ := cut(body)
	for line := range strings.Lines(header) {
		switch m := item.FindStringSubmatch(line); {
		case m == nil:
		case m[1] == "KEYS":
			h.Keys = append(h.Keys, m[2])
		default:
			h.Args = append(h.Args, m[2])
		}
		if m := replay.FindStringSubmatch(line); m != nil {
			replays = true
			h.Replay = map[string]Replay{"reads": Reads, "safe": Safe, "once": Once, "unsafe": Unsafe}[m[1]]
		}
		returns = returns || strings.HasPrefix(line, "-- Returns ")
	}
	return h, h.complete(returns, replays)
}

func (h *Header) complete(returns, replays bool) error {
	switch {
	case len(h.Keys) == 0:
		return errors.New("header names no KEYS: a script declares what it touches")
	case !returns:
		return errors.New("header has no Returns line")
	case !replays:
		return errors.New("header has no Replay line of the form \"Replay reads: …\", \"Replay safe: …\", \"Replay once: …\" or \"Replay unsafe: …\"")
	}
	return nil
}

// Check compares a call with the header. A script whose last KEYS or ARGV line
// has an index that is not a plain number takes any count.
func (h Header) Check(keys, args int) error {
	if err := check("KEYS", h.Keys, keys); err != nil {
		return err
	}
	return check("ARGV", h.Args, args)
}

func check(kind string, named []string, got int) error {
	if n := len(named); n > 0 && strings.ContainsAny(named[n-1], "in…+") {
		return nil
	}
	if len(named) != got {
		return fmt.Errorf("header names %d %s, the call passes %d", len(named), kind, got)
	}
	return nil
}
