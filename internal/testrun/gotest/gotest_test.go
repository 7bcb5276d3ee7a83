package gotest

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLinesThatAreNoEventsArePassedOver(t *testing.T) {
	t.Parallel()
	const input = "a tool prints\n" +
		`{"Time":"2026-01-01T00:00:00Z","Action":"pass","Package":"p","Test":"TestA/b","Elapsed":1.5}` + "\n" +
		`{"Action":"output","Package":"p","Output":"no end of the line"}`
	var events []Event
	require.NoError(t, Read(strings.NewReader(input), func(e Event) { events = append(events, e) }))
	require.Len(t, events, 2)
	require.Equal(t, Test{"p", "TestA/b"}, events[0].Of())
	require.Equal(t, 1.5, events[0].Elapsed)
	require.Equal(t, Test{"p", ""}, events[1].Of())
}

func TestAnErrorOfTheReaderIsToldAfterWhatCameBefore(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var events int
	err := Read(io.MultiReader(strings.NewReader(`{"Action":"start"}`+"\n"), iotest.ErrReader(broken)), func(Event) { events++ })
	require.ErrorIs(t, err, broken)
	require.Equal(t, 1, events)
}
