package scenarios_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios"
)

// A statement means the pod of its name that the cluster has, whatever its uid; gone means those before it, once it was
// made again.
func TestStatementsMeanThePodThatThereIs(t *testing.T) {
	const pods = `---
apiVersion: v1
kind: Pod
metadata:
  namespace: default
  name: web
  uid: 5e0c3f5e-0000-4000-8000-000000000002
  annotations: {volsim.volnode.dev/version: "2"}
spec:
  nodeName: node-1
  containers: [{name: app, image: app, volumeMounts: [{name: vol-a, mountPath: /data}]}]
  volumes: [{name: vol-a, persistentVolumeClaim: {claimName: vol-a}}]
`
	for lines, breaks := range map[string]string{
		"after 30s expect pod default/web ready\nafter 0s expect volume vol-a of pod default/web writable\nafter 0s " +
			"expect pod default/web gone\n" +
			"after 1m delete pod default/web\nwithin 1m expect pod default/web gone\n": "",
		"after 30s delete pod default/web\nafter 0s expect pod default/web gone\n": "the pod is Ready",
		"after 30s stop driver disk.example\nafter 5s delete pod default/web\n" +
			"after 20s expect pod default/web ready\n": "the pod is Waiting; volume pv-vol-a is Waiting: " +
			"NodeUnpublishVolume disk.example^vol-a",
		"after 30s delete pod default/web\nafter 1m apply pod default/web\nafter 30s expect pod default/web ready\n": "",
		"after 0s expect pod default/web ready\n": "the engine does not know the pod",
	} {
		s, err := scenarios.Parse("again.txt", `# A pod is made again.
driver disk.example staging device
volume vol-a of disk.example
pod default/web uses vol-a
at 0s apply all
within 30s expect pod default/web ready
at 1m delete pod default/web
after 1m apply pod default/web version 2
`+lines+pods)
		require.NoError(t, err)
		v := scenarios.RunScenario(s, false, nil, nil).Violation
		if breaks == "" {
			require.Nil(t, v, lines)
			continue
		}
		require.NotNil(t, v, lines)
		require.Contains(t, v.Story, breaks, lines)
	}
}
