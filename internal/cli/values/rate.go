package values

import (
	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// Rate is a rate in JSON.
type Rate struct {
	Text      string `json:"text"`
	N         int64  `json:"n"`
	PerNS     int64  `json:"per_ns"`
	Burst     int64  `json:"burst"`
	PerClient bool   `json:"per_client"`
}

// NewRate returns a rate in JSON. The text is what people read.
func NewRate(text string, r ratelimiter.Rate) Rate {
	return Rate{text, r.N, int64(r.Per), r.Burst, r.Type == ratelimiter.PerClient}
}

// RateOf returns the rate of a rule that is stored.
func RateOf(r *bucket.Rule) ratelimiter.Rate {
	return ratelimiter.Rate{N: r.N, Per: r.Per, Burst: r.Burst, Type: ratelimiter.RateType(r.Type)}
}
