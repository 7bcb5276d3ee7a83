package crew

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

const (
	asEcho = "RUEIDISSON_CREW_ECHO"
	asDeaf = "RUEIDISSON_CREW_DEAF"
)

func TestMain(m *testing.M) {
	Join(asEcho, "crew: echo", echo)
	Join(asDeaf, "crew: deaf", func(_ io.Reader, out io.Writer) error {
		_ = json.NewEncoder(out).Encode("ready")
		<-time.After(time.Hour)
		return nil
	})
	redistest.Main(m)
}

// echo says what it hears, and that it is sorry if it hears so.
func echo(in io.Reader, out io.Writer) error {
	from, to := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var word string
		if from.Decode(&word) != nil {
			return nil
		}
		if word == "sorry" {
			return errors.New(word)
		}
		_ = to.Encode(word)
	}
}

// started is a member, what it says and what becomes of it.
func started(t *testing.T, variable string, stderr io.Writer) (m *Member, heard, gone chan string) {
	t.Helper()
	heard, gone = make(chan string, 10), make(chan string, 1)
	m, err := Start(variable, stderr, func(said *json.Decoder) {
		var word string
		for said.Decode(&word) == nil {
			heard <- word
		}
	}, func(state string) { gone <- state })
	require.NoError(t, err)
	t.Cleanup(m.End)
	return m, heard, gone
}

func TestAMemberHearsAndAnswersAndEnds(t *testing.T) {
	t.Parallel()
	m, heard, gone := started(t, asEcho, io.Discard)
	for _, word := range []string{"one", "two\nlines"} {
		require.NoError(t, m.Tell(word))
		assert.Equal(t, word, <-heard)
	}
	m.End()
	assert.Equal(t, "exit status 0", <-gone)
	m.End()
	require.Error(t, m.Tell("three"))
}

func TestWhatIsWrongWithAMember(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	m, _, gone := started(t, asEcho, OneAtATime(&said))
	require.NoError(t, m.Tell("sorry"))
	assert.Equal(t, "exit status 1", <-gone)
	m.End()
	assert.Equal(t, "crew: echo: sorry\n", said.String())
}

func TestAMemberThatDoesNotEndIsMadeTo(t *testing.T) {
	t.Parallel()
	m, heard, gone := started(t, asDeaf, io.Discard)
	assert.Equal(t, "ready", <-heard)
	began := time.Now()
	m.End()
	assert.GreaterOrEqual(t, time.Since(began), endPatience)
	assert.Equal(t, "signal: killed", <-gone)

	killed, _, gone := started(t, asDeaf, io.Discard)
	require.NoError(t, killed.Kill())
	assert.Equal(t, "signal: killed", <-gone)
}
