package main

import (
	"fmt"
	"slices"
	"time"
)

// result is what became of a sale.
type result struct {
	Strategy string  `json:"strategy"`
	Server   string  `json:"server"`
	Procs    int     `json:"procs"`
	Buyers   int     `json:"buyers"`
	Stock    int     `json:"stock"`
	ThinkMS  float64 `json:"think_ms"`

	// Sold is how many buyers got a piece, by the books in Redis.
	Sold int `json:"sold"`
	// Left is the stock at the end.
	Left int `json:"left"`
	// Oversold is how many sales no piece left the stock for: each is of a
	// piece that somebody else has bought, too.
	Oversold int `json:"oversold"`
	// Served is how many buyers got an answer, a piece or that there is none.
	Served int `json:"served"`

	Seconds        float64 `json:"seconds"`
	SalesPerSecond float64 `json:"sales_per_second"`

	// What buyers waited who got a piece, from coming until being let in.
	WaitP50         float64 `json:"wait_p50_ms"`
	WaitP99         float64 `json:"wait_p99_ms"`
	WaitMax         float64 `json:"wait_max_ms"`
	Waits           []int   `json:"wait_histogram"` // buckets of equal width from 0 to WaitMax
	Commands        int64   `json:"commands"`
	CommandsPerSale float64 `json:"commands_per_sale"`

	Killed   *killed  `json:"killed,omitempty"`
	Problems []string `json:"problems,omitempty"`
}

// killed is about the process that was killed.
type killed struct {
	Process int `json:"process"`
	// Unserved is how many of its buyers had no answer when it died, the one
	// who held the lock among them.
	Unserved int `json:"unserved"`
	// Unreported is how many of those are in the books all the same: the
	// process died between the sale and saying so.
	Unreported int `json:"unreported"`
	// Standstill is the longest time in which nobody was served.
	Standstill float64 `json:"standstill_ms"`
}

func (s *sale) result(b books, commands int64) *result {
	slices.Sort(s.tally.waits)
	took := s.tally.last.Sub(s.tally.opened).Seconds()
	r := &result{
		Strategy: s.strategy.name, Server: s.venue.name,
		Procs: s.procs, Buyers: s.buyers, Stock: s.stock, ThinkMS: millis(s.think),
		Sold: b.total(), Left: b.left, Oversold: b.total() + b.left - s.stock,
		Served:  s.tally.answered(),
		Seconds: took, SalesPerSecond: ratio(float64(b.total()), took),
		WaitP50:  millis(percentile(s.tally.waits, 50)),
		WaitP99:  millis(percentile(s.tally.waits, 99)),
		WaitMax:  millis(percentile(s.tally.waits, 100)),
		Waits:    histogram(s.tally.waits),
		Commands: commands, CommandsPerSale: ratio(float64(commands), float64(b.total())),
	}
	if s.kill {
		r.Killed = s.autopsy(b)
	}
	r.Problems = s.problems(r, b)
	return r
}

func (s *sale) autopsy(b books) *killed {
	said := s.tally.counts[victim]
	return &killed{
		Process:    victim,
		Unserved:   s.share(victim) - said.served,
		Unreported: b.sold[victim] - said.sold,
		Standstill: millis(s.tally.gap),
	}
}

// problems returns the ways in which the sale went as it should not.
func (s *sale) problems(r *result, b books) (found []string) {
	if s.strategy.excludes && r.Oversold != 0 {
		found = append(found, fmt.Sprintf("%d sold and %d left of %d, by the %s", r.Sold, r.Left, r.Stock, r.Strategy))
	}
	if s.kill && s.tally.dead == 0 {
		found = append(found, "no process was killed")
	}
	for n, said := range s.tally.counts {
		if s.kill && n == victim {
			continue
		}
		if said.served != s.share(n) {
			found = append(found, fmt.Sprintf("process %d served %d of its %d buyers", n, said.served, s.share(n)))
		}
		if said.sold != b.sold[n] {
			found = append(found, fmt.Sprintf("process %d says that it sold %d, the books say %d", n, said.sold, b.sold[n]))
		}
	}
	return found
}

// percentile returns that of sorted durations, by nearest rank.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

const buckets = 60

// histogram counts sorted durations in buckets of equal width from 0 to the
// longest.
func histogram(sorted []time.Duration) []int {
	counts := make([]int, buckets)
	longest := percentile(sorted, 100)
	for _, d := range sorted {
		counts[int(buckets*d/(longest+1))]++
	}
	return counts
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
