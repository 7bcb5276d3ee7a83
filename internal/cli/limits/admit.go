package limits

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// admitted is the most that a bucket grants in any window of that length.
type admitted struct {
	Window   string   `json:"window"`
	WindowNS int64    `json:"window_ns"`
	AtMost   *big.Int `json:"at_most"`
}

const day = 24 * time.Hour

// windows are the lengths of time that people think in.
var windows = []struct {
	word string
	d    time.Duration
}{{"second", time.Second}, {"minute", time.Minute}, {"hour", time.Hour}, {"day", day}}

// admits says what the rate comes to in windows that people think in, and in its
// own. One without a limit comes to no number.
func admits(r setting) []admitted {
	if unlimited(r.Rate) {
		return []admitted{}
	}
	all := []admitted{admitsIn(r, perWord(r.Rate), r.Per)}
	for _, w := range windows {
		if w.d != r.Per {
			all = append(all, admitsIn(r, w.word, w.d))
		}
	}
	slices.SortFunc(all, func(a, b admitted) int { return cmp.Compare(a.WindowNS, b.WindowNS) })
	return all
}

func admitsIn(r setting, word string, d time.Duration) admitted {
	if r.log {
		return admitted{word, int64(d), r.logIn(d)}
	}
	return admitted{word, int64(d), r.bucketIn(d)}
}

// bucketIn returns burst + N*d/Per, in numbers that do not overflow: a full bucket
// may be emptied at the beginning. A rate of 0 grants nothing, whatever its burst.
func (s setting) bucketIn(d time.Duration) *big.Int {
	if s.N == 0 {
		return new(big.Int)
	}
	n := new(big.Int).Mul(big.NewInt(s.N), big.NewInt(int64(d)))
	n.Quo(n, big.NewInt(int64(s.Per)))
	return n.Add(n, big.NewInt(s.Burst))
}

// logIn returns N for each Per that d takes to cover.
func (s setting) logIn(d time.Duration) *big.Int {
	times := int64((d-1)/max(s.Per, 1)) + 1 // nobody hinders Java from storing 0
	return new(big.Int).Mul(big.NewInt(s.N), big.NewInt(times))
}

// perWord returns what a rate's N is per: "second", or "3s".
func perWord(r ratelimiter.Rate) string {
	for _, w := range windows {
		if w.d == r.Per {
			return w.word
		}
	}
	text, _, _ := strings.Cut(r.String(), " ")
	_, per, _ := strings.Cut(text, "/")
	return per
}

// admitsLine returns admits in words.
func admitsLine(r setting) string {
	switch {
	case unlimited(r.Rate):
		return "all that is asked for"
	case r.N == 0 && !r.log:
		return "nothing"
	}
	var in []string
	for _, a := range admits(r) {
		in = append(in, fmt.Sprintf("%s in any %s", grouped(a.AtMost.String()), a.Window))
	}
	most, of := grouped(fmt.Sprint(r.N)), ""
	if !r.log {
		most = grouped(fmt.Sprint(r.Burst)) + " + " + most
	}
	if r.Type == ratelimiter.PerClient {
		of = " of each process"
	}
	return fmt.Sprintf("at most %s per %s%s: %s", most, perWord(r.Rate), of, strings.Join(in, ", "))
}

// grouped puts commas between the thousands of a number without a sign.
func grouped(digits string) string {
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
