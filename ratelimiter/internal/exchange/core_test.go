package exchange

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rueidisson/rueidisson/internal/bucket"
)

// said is an answer about the stored rule: of which generation it is, 0 for no
// rule, and from when to when it was asked for, in milliseconds.
type said struct {
	generation      int64
	asked, answered int
	change, paused  bool
}

func (s said) rule() *bucket.Rule {
	if s.generation == 0 {
		return nil
	}
	text := "running"
	if s.paused {
		text = "paused"
	}
	return &bucket.Rule{Generation: s.generation, Paused: s.paused, Stored: text}
}

func (s said) to(c *Core) {
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	if s.change {
		c.Changed(s.rule(), at(s.asked), at(s.answered))
		return
	}
	c.remember(s.rule(), at(s.asked), at(s.answered))
}

func set(generation int64, asked, answered int) said {
	return said{generation: generation, asked: asked, answered: answered, change: true}
}

func read(generation int64, asked, answered int) said {
	return said{generation: generation, asked: asked, answered: answered}
}

func suspend(generation int64, asked, answered int) said {
	return said{generation: generation, asked: asked, answered: answered, change: true, paused: true}
}

// Answers arrive in any order. Of exchanges that were under way together, the
// generation tells which rule is the newer; of others, the time does.
func TestWhichRuleIsRemembered(t *testing.T) {
	t.Parallel()
	const unknown = 0
	for name, of := range map[string]struct {
		heard []said
		want  int64
	}{
		"nothing but one":                             {[]said{read(5, 10, 20)}, 5},
		"one change after another":                    {[]said{set(5, 10, 20), set(7, 20, 30)}, 7},
		"a change whose answer comes late":            {[]said{set(7, 12, 20), set(5, 10, 30)}, 7},
		"two at once, in order":                       {[]said{set(5, 10, 30), set(7, 12, 40)}, 7},
		"an older one that was heard of afterwards":   {[]said{set(7, 30, 40), set(5, 10, 20)}, 7},
		"a read from before a change":                 {[]said{set(7, 12, 20), read(5, 10, 30)}, 7},
		"a read that saw a change of another process": {[]said{set(5, 12, 20), read(7, 10, 30)}, 7},
		"a change behind which a read saw another":    {[]said{read(7, 10, 30), set(5, 12, 40)}, 7},
		"reads at once":                               {[]said{read(7, 12, 20), read(5, 10, 30)}, 7},
		"what a failover brought back":                {[]said{set(7, 10, 20), read(5, 20, 30)}, 5},
		"what a failover brought back, set":           {[]said{read(7, 10, 20), set(5, 25, 30)}, 5},
		"a delete":                                    {[]said{set(7, 10, 20), set(0, 21, 30)}, 0},
		"a read from before a delete":                 {[]said{set(0, 21, 30), read(7, 20, 40)}, 0},
		"a read of nothing from before a change":      {[]said{set(7, 10, 30), read(0, 9, 40)}, 7},
		"a delete and a change at once":               {[]said{set(0, 10, 30), set(7, 12, 40)}, unknown},
		"a change and a delete at once":               {[]said{set(7, 10, 30), set(0, 12, 40)}, unknown},
		"a pause and a resume at once":                {[]said{suspend(7, 10, 30), set(7, 12, 40)}, unknown},
		"and what is read afterwards":                 {[]said{suspend(7, 10, 30), set(7, 12, 40), read(7, 40, 50)}, 7},
		"two pauses at once":                          {[]said{suspend(7, 10, 30), suspend(7, 12, 40)}, 7},
		"a pause of an older rule":                    {[]said{set(7, 10, 30), suspend(5, 12, 40)}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Core{}
			for _, s := range of.heard {
				s.to(c)
			}
			got := int64(0)
			if r := c.cached.Load().Rule; r != nil {
				got = r.Generation
			}
			assert.Equal(t, of.want, got)
		})
	}
}

// An answer that is not remembered makes what is remembered no fresher.
func TestARuleIsAsFreshAsItsQuestion(t *testing.T) {
	t.Parallel()
	c := &Core{}
	set(7, 12, 20).to(c)
	set(5, 10, 30).to(c)
	assert.Equal(t, 12*time.Millisecond, c.cached.Load().asked)
	read(7, 25, 26).to(c)
	assert.Equal(t, 25*time.Millisecond, c.cached.Load().asked)
	read(7, 24, 40).to(c)
	assert.Equal(t, 25*time.Millisecond, c.cached.Load().asked)
}
