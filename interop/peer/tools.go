package peer

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// errNoTools says what is missing on this machine; the test is skipped for it.
var errNoTools = errors.New("needs a JDK 17 and Maven")

// javaTool finds a program of the JDK that JAVA_HOME names, or of the one on PATH.
func javaTool(name string) (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		name = filepath.Join(home, "bin", name)
	}
	return tool(name)
}

func tool(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoTools, err)
	}
	return path, nil
}

// project is the folder of the pom, looked for from the working directory of the test upwards.
func project() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		folder := filepath.Join(dir, "interop", "java")
		if _, err := os.Stat(filepath.Join(folder, "pom.xml")); err == nil {
			return folder, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no interop/java/pom.xml above the working directory")
		}
		dir = parent
	}
}
