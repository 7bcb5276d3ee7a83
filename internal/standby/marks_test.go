package standby

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
)

func TestMarksAreOfOneBucketAndAreFew(t *testing.T) {
	t.Parallel()
	var m marks
	assert.Zero(t, m.of("a"))
	m.set("a", 5)
	assert.EqualValues(t, 5, m.of("a"))
	assert.Zero(t, m.of("b"))
	for i := range 10 * maxMarks {
		m.set(strconv.Itoa(i), time.Duration(10+i))
		require.LessOrEqual(t, len(m.by), maxMarks)
	}
	last := time.Duration(10 + 10*maxMarks - 1)
	assert.Equal(t, last, m.of(strconv.Itoa(10*maxMarks-1)))
	assert.GreaterOrEqual(t, m.of("a"), time.Duration(5), "what is forgotten counts as having been later, and never as not at all")
	assert.Less(t, m.of("a"), last)
}

// Two that look at the clock at once may set their marks in the other order.
func TestAMarkDoesNotGoBack(t *testing.T) {
	t.Parallel()
	var m marks
	m.set("a", 11)
	m.set("a", 10)
	assert.EqualValues(t, 11, m.of("a"))
}

// A key that is given something back, or reset, says nothing of the others.
func TestWhatIsForgottenOfOneKeyIsNotForgottenOfOthers(t *testing.T) {
	t.Parallel()
	r, err := bucket.Resolve(bucket.Rate{N: 10, Per: time.Hour, Burst: 10})
	require.NoError(t, err)
	r.Identify(1, 0)
	var d denials
	var s stocks
	d.outdone.set("a", 7)
	s.dropped.set("a", 7)
	const before = 5 // when what is answered now was asked for
	for state, want := range map[string]bool{"a": false, "b": true} {
		d.learn(state, denial{bucket.State{Rule: r, Missing: r.Full}, before})
		_, known := d.by[state]
		assert.Equal(t, want, known, "the refusal of %s", state)
		s.add(state, bucket.State{Rule: r}, 3, 3, before)
		assert.Equal(t, want, s.tokens(state) == 3, "the stock of %s", state)
	}
}
